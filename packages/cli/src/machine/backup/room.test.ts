import { SvcError } from '@svc/shared/errors.ts';
import { expect, test } from 'vitest';
import { explainedFull } from './room.ts';

const failed = (members: object) => Object.assign(new Error('no space left'), members);

test.each([
  ['of a file', failed({ code: 'ENOSPC' })],
  ['of a quota', failed({ code: 'EDQUOT' })],
  [
    'of SQLite, below another one',
    new SvcError('bad-backup', 'cannot copy', { cause: failed({ errcode: 13 }) }),
  ],
])('an error %s says that there is no room', (_what, error) => {
  expect(explainedFull(error, '/backup')).toMatchObject({
    code: 'file-not-written',
    message: expect.stringMatching(/^there is no room in \/backup: no space left\. .*Make room/),
    cause: error,
  });
});

test('another error stays as it is', () => {
  const error = new SvcError('bad-backup', 'damaged', { cause: failed({ code: 'EACCES' }) });
  expect(explainedFull(error, '/backup')).toBe(error);
});
