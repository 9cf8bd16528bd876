import { expect, test } from 'vitest';
import { EXPIRED, TRUSTED } from '../../../test/support/tls/certificates.ts';
import { Secret } from './secret.ts';
import { trustedContext } from './trusted-authorities.ts';

test('who trusts the same shares one context', () => {
  expect(trustedContext()).toBe(trustedContext([]));
  expect(trustedContext([TRUSTED.cert])).toBe(trustedContext([TRUSTED.cert]));
});

test('who trusts others, or shows an identity, has another context', () => {
  const trusting = trustedContext([TRUSTED.cert]);
  expect(trusting).not.toBe(trustedContext());
  expect(trusting).not.toBe(trustedContext([EXPIRED.cert]));
  expect(trustedContext([TRUSTED.cert, EXPIRED.cert])).not.toBe(trustedContext([TRUSTED.cert]));
  const identity = { cert: TRUSTED.cert, key: new Secret(TRUSTED.key) };
  expect(trustedContext([], identity)).not.toBe(trustedContext());
  expect(trustedContext([], identity)).not.toBe(trustedContext([], identity));
});
