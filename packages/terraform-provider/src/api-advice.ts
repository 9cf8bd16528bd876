import type { ProviderSettings } from './provider-settings.ts';

/** Also as a coordinator before 0.2 says it. */
const TAKEN =
  /^(?:another status page has this |".*" is the (?:slug|custom_domain) of another status page$)/s;
const ABSENT = /^there is no (?:monitor|status page) \d+$/;

/**
 * What to do in Terraform about something that the API refused with this message; null: the message says it.
 *
 * @param isChange of an object that was there before: only it may be part of an exchange
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
