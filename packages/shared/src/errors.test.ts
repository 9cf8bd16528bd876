import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { codeOf, isCode, SvcError } from './errors.ts';

function errorOf(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

const missing = errorOf(() => readFileSync('/nowhere/file'));

test.each([
  ['an error of the system', missing, 'ENOENT'],
  ['an error of Node', errorOf(() => new URL('no URL')), 'ERR_INVALID_URL'],
  ['an error of svc', new SvcError('file-not-written', 'cannot write'), 'file-not-written'],
  ['a code that is a number', Object.assign(new Error('busy'), { code: 503 }), '503'],
  ['a code without a value', Object.assign(new Error('parse'), { code: undefined }), ''],
  ['an error without a code', new Error('plain'), ''],
  ['what is no error', { code: 'ENOENT' }, ''],
  ['nothing', undefined, ''],
])('the code of %s', (_, error, code) => {
  expect(codeOf(error)).toBe(code);
});

test('whether an error has one of the codes', () => {
  expect(isCode(missing, 'ENOENT')).toBe(true);
  expect(isCode(missing, 'EACCES', 'ENOENT')).toBe(true);
  expect(isCode(missing, 'EACCES', 'EPERM')).toBe(false);
  expect(isCode({ code: 'ENOENT' }, 'ENOENT')).toBe(false);
});
