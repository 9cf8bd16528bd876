import type { ProviderSettings } from './provider-settings.ts';

const TAKEN = /^".*" is the (slug|custom_domain) of another status page$/s;
const ABSENT = /^there is no (?:monitor|status page) \d+$/;

/** What to do in Terraform about something that the API refused with this message; null: the message says it. */
export function adviceOn(message: string, settings: ProviderSettings | null): string | null {
  const taken = TAKEN.exec(message)?.[1];
  if (taken !== undefined) {
    return `Terraform changes the pages of an apply in any order: if that page gives it up in the same apply, apply again. Pages that exchange theirs need another value in between; with lifecycle { create_before_destroy = true } a page can only be replaced by one with another ${taken}.`;
  }
  if (ABSENT.test(message)) {
    const token = settings === null ? 'the token' : `the token, which comes from ${settings.token.source}`;
    return `It was deleted, or belongs to another workspace than ${token}.`;
  }
  return null;
}
