import type { ProviderSettings } from './provider-settings.ts';

/** Also as a coordinator before 0.2 says it. */
const TAKEN =
  /^(?:another status page has this |".*" is the (?:slug|custom_domain) of another status page$)/s;
const ABSENT = /^there is no (?:monitor|status page) \d+$/;

/**
 * Advice for Terraform about a refusal of the API with this message; null: the message is enough.
 *
 * @param isChange whether it concerns an existing object: only such an object may be part of an exchange
 */
export function adviceOn(
  message: string,
  settings: ProviderSettings | null,
  isChange: boolean,
): string | null {
  if (TAKEN.test(message)) {
    if (!isChange) return null;
    return `Terraform changes the pages of an apply in any order: if that page gives it up in the same apply, apply again. Pages that exchange theirs need another value in between.`;
  }
  if (ABSENT.test(message)) {
    const token = settings === null ? 'the token' : `the token, which comes from ${settings.token.source}`;
    return `It was deleted, or belongs to another workspace than ${token}.`;
  }
  return null;
}
