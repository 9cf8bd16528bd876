import { Secret } from '@svc/shared/secret.ts';

/**
 * For all tests: a secret that is put into a text fails the test. In production the text contains the mask,
 * so code that needs the value would send the mask; the type check cannot find this (decision 0081).
 */
export function refuseSecretsInTexts(): void {
  Object.defineProperty(Secret.prototype, Symbol.toPrimitive, {
    configurable: true,
    value: () => {
      throw new TypeError('a secret was put into a text: reveal it where it is used');
    },
  });
}

/** Restores the behaviour of production, for tests of printed texts. */
export function allowSecretsInTexts(): void {
  Reflect.deleteProperty(Secret.prototype, Symbol.toPrimitive);
}

refuseSecretsInTexts();
