import type { ProviderSettings } from './provider-settings.ts';

/**
 * Matches the API's message that another status page uses
 * the value. Coordinators before 0.2 send the second form.
 */
const TAKEN =
  /^(?:another status page has this |".*" is the (?:slug|custom_domain) of another status page$)/s;
const ABSENT = /^there is no (?:monitor|status page) \d+$/;

/**
 * Advice that Terraform shows after the message with which the API refused a request; null: the message needs
 * no advice.
 *
 * @param isChange whether the request changes an existing object: only existing objects can exchange values
 */
export function adviceOn(
  message: string,
  settings: ProviderSettings | null,
  isChange: boolean,
): string | null {
  if (TAKEN.test(message)) {
    if (!isChange) return null;
    return `Terraform changes the pages of an apply in any order: if that page gives the value up in the same apply, apply again. To exchange the values of two pages, first give one of them a third value.`;
  }
  if (ABSENT.test(message)) {
    const token = settings === null ? 'the token' : `the token, which comes from ${settings.token.source}`;
    return `It was deleted, or belongs to another workspace than ${token}.`;
  }
  return null;
}
