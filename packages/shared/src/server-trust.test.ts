import { expect, test } from 'vitest';
import { EXPIRED, TRUSTED } from '../../../test/support/tls/certificates.ts';
import { Secret } from './secret.ts';
import { checkAlternativeNames, trustedContext } from './server-trust.ts';

test('connections with the same trust share one context', () => {
  expect(trustedContext()).toBe(trustedContext([]));
  expect(trustedContext([TRUSTED.cert])).toBe(trustedContext([TRUSTED.cert]));
});

test('other authorities or an identity need another context', () => {
  const trusting = trustedContext([TRUSTED.cert]);
  expect(trusting).not.toBe(trustedContext());
  expect(trusting).not.toBe(trustedContext([EXPIRED.cert]));
  expect(trustedContext([TRUSTED.cert, EXPIRED.cert])).not.toBe(trustedContext([TRUSTED.cert]));
  const identity = { cert: TRUSTED.cert, key: new Secret(TRUSTED.key) };
  expect(trustedContext([], identity)).not.toBe(trustedContext());
  expect(trustedContext([], identity)).not.toBe(trustedContext([], identity));
});

test.each([
  ['DNS:www.example.com', 'www.example.com', true],
  ['DNS:*.example.com', 'www.example.com', true],
  ['DNS:example.com, DNS:*.example.com, IP Address:192.0.2.1', 'www.example.com', true],
  ['DNS:*.example.com', 'example.com', false],
  ['DNS:*.example.com', 'a.b.example.com', false],
  ['DNS:w*.example.com', 'www.example.com', false],
  ['DNS:*w.example.com', 'www.example.com', false],
  ['DNS:w*.example.com, DNS:www.example.com', 'www.example.com', true],
  ['DNS:w*.example.com, DNS:*.example.com', 'www.example.com', true],
  ['DNS:www.example.com, DNS:w*.example.com', 'www.example.com', true],
  ['DNS:w*.example.com, DNS:x*.example.com', 'xyz.example.com', false],
  ['URI:"DNS:w*.example.com, DNS:*.other.test"', 'www.other.test', false],
  ['IP Address:192.0.2.1', '192.0.2.1', true],
  [undefined, 'www.example.com', false],
])('a certificate for %s is one for %s: %j', (subjectaltname, host, isFor) => {
  const problem = checkAlternativeNames(host, subjectaltname === undefined ? {} : { subjectaltname });
  expect(problem === undefined).toBe(isFor);
});
