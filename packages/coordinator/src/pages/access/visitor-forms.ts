import { secretCookieOf, setCookie } from '../../web/cookies.ts';
import { FORM_TOKEN, formTokenField, isFormToken, isFromOwnPage } from '../../web/csrf.ts';
import { Form, readForm } from '../../web/forms.ts';
import type { Html } from '../../web/html.ts';
import { randomSecret } from '../../web/sessions.ts';
import type { Visit } from '../../web/site.ts';

/** Name of the cookie that is the seed of the tokens of a visitor's forms. */
const SEED_COOKIE = 'svc-visitor';
const SEED_LIFE_S = 6 * 3_600;
/** Most bytes of a visitor's form: an address, a password and tokens. */
const MOST_BYTES = 8_192;

/** The seed of a visitor's forms: with its hidden field, and the cookie that keeps it. */
export type FormSeed = { readonly field: Html; readonly cookie: string };

/** The seed of the visitor's cookie, or a new one. */
export function formSeed(visit: Visit): FormSeed {
  const seed = secretCookieOf(visit, SEED_COOKIE) ?? randomSecret();
  return { field: formTokenField(seed), cookie: setCookie(visit, SEED_COOKIE, seed, SEED_LIFE_S) };
}

/** The form of a visitor; a status: it is not taken. 403: it may come from another site, or be old. */
export async function visitorForm(visit: Visit): Promise<Form | 400 | 403 | 413 | 415> {
  if (!isFromOwnPage(visit.request)) return 403;
  const form = await readForm(visit.request, MOST_BYTES);
  if (!(form instanceof Form)) return form.status;
  const seed = secretCookieOf(visit, SEED_COOKIE);
  return seed !== null && isFormToken(seed, form.text(FORM_TOKEN)) ? form : 403;
}
