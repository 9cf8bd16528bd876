import { isDeepStrictEqual } from 'node:util';
import { Secret } from '@svc/shared/secret.ts';
import { expect } from 'vitest';

/**
 * Setup for all tests: two secrets are equal when their values are equal. A {@link Secret} has no members, so
 * without this any two secrets would be equal. Undefined: neither value is a secret.
 */
function areSameSecrets(one: unknown, other: unknown): boolean | undefined {
  if (one instanceof Secret && other instanceof Secret) {
    return isDeepStrictEqual(one.reveal(), other.reveal());
  }
  return one instanceof Secret || other instanceof Secret ? false : undefined;
}

// Test files in one worker share the added tester, and each of them loads this file again.
const REGISTERED = Symbol.for('svc.compared-secrets');
if (Reflect.get(globalThis, REGISTERED) !== Secret) {
  Reflect.set(globalThis, REGISTERED, Secret);
  expect.addEqualityTesters([areSameSecrets]);
}
