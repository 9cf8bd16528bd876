import { Secret } from '@svc/shared/secret.ts';

/**
 * For all tests: a secret that is put into a text fails the test. In production the text has the mask, and whoever meant
 * the value sends the mask; the type check cannot tell (decision 0081).
 */
export function refuseSecretsInTexts(): void {
  Object.defineProperty(Secret.prototype, Symbol.toPrimitive, {
    configurable: true,
    value: () => {
      throw new TypeError('a secret was put into a text: reveal it where it is used');
    },
  });
}

/** As in production, for tests of what prints show. */
export function allowSecretsInTexts(): void {
  Reflect.deleteProperty(Secret.prototype, Symbol.toPrimitive);
}

refuseSecretsInTexts();
