import { expect, test } from 'vitest';
import { localFailureOf } from './local-failure.ts';

test.each([
  ['EMFILE', 4, 'used-up'],
  ['ENOBUFS', 6, 'used-up'],
  ['EADDRNOTAVAIL', 4, 'used-up'],
  ['EADDRNOTAVAIL', 6, 'no-route'],
  ['ENETUNREACH', 4, 'no-route'],
  ['EHOSTUNREACH', 6, 'no-route'],
  ['EINVAL', 4, 'no-route'],
  ['EACCES', 6, 'no-route'],
  ['EPERM', 4, 'no-route'],
  ['ECONNREFUSED', 4, null],
  ['ECONNRESET', 4, null],
  ['ETIMEDOUT', 6, null],
] as const)('%s over IPv%d says of this machine: %s', (code, family, failure) => {
  expect(localFailureOf(code, family)).toBe(failure);
});
