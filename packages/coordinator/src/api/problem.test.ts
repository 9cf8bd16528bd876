import { expect, test } from 'vitest';
import { StoreError, type StoreErrorCode } from '../store/errors.ts';
import { isForTheLog, problemOf } from './problem.ts';

const told = (code: StoreErrorCode) => {
  const error = new StoreError(code, 'database: told by SQLite');
  const problem = problemOf(error);
  return {
    status: problem?.status,
    wait: problem?.headers['retry-after'],
    detail: problem?.message,
    isForTheLog: isForTheLog(error),
  };
};

test.each<StoreErrorCode>(['store-full', 'store-busy', 'store-io', 'store-overloaded', 'store-reader-lost'])(
  '%s passes by itself',
  (code) => {
    expect(told(code)).toMatchObject({ status: 503, wait: '1', isForTheLog: false });
  },
);

test('a read that fails is not said to be a write', () => {
  const detail = 'the database does not answer at the moment; nothing was changed';
  expect(told('store-reader-lost')).toMatchObject({ detail });
});

test('a damaged database is no defect of svc: the problem says what the operator must do', () => {
  const detail = expect.stringContaining('damaged: its operator can restore a backup; nothing was changed');
  expect(told('store-corrupt')).toEqual({ status: 503, wait: '60', detail, isForTheLog: true });
});

test('the problem of a read-only database says what the operator must do', () => {
  const detail = expect.stringContaining('let svc write to the file');
  expect(told('store-readonly')).toEqual({ status: 503, wait: '60', detail, isForTheLog: true });
});

test('a statement that SQLite refuses is a defect of svc', () => {
  expect(told('store-constraint')).toMatchObject({ status: undefined, isForTheLog: true });
});
