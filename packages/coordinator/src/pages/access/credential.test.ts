import { Secret } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { credentialVersion, isPassword, type PageAccess } from './credential.ts';

const key = new Secret(new Uint8Array(32));
const version = (access: PageAccess, pageId = 1) => credentialVersion(key, pageId, access);
const withPassword = (password: string): PageAccess => ({ type: 'password', password: new Secret(password) });
const ofDomains = (...domains: string[]): PageAccess => ({ type: 'email-domain', domains });

test('only the exact password is accepted', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (password, given) => {
      expect(isPassword(new Secret(password), given)).toBe(password === given);
      expect(isPassword(new Secret(password), password)).toBe(true);
    }),
  );
});

test('the version changes only with the password, the domains, the type, the page and the key', () => {
  const versions = [
    version(withPassword('one')),
    version(withPassword('two')),
    version(withPassword('one'), 2),
    version(ofDomains('example.com')),
    version(ofDomains('example.com', 'example.org')),
    version({ type: 'public' }),
    credentialVersion(new Secret(new Uint8Array(32).fill(1)), 1, withPassword('one')),
  ];
  expect(new Set(versions).size).toBe(versions.length);
  expect(version(withPassword('one'))).toBe(versions[0]);
  expect(version(ofDomains('example.org', 'example.com'))).toBe(versions[4]);
});
