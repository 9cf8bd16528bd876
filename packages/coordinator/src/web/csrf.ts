import { createHmac, timingSafeEqual } from 'node:crypto';
import { Form, type FormRefusal, readForm } from './forms.ts';
import { type Html, html } from './html.ts';
import type { Visit } from './site.ts';

/** Name of the form field with the token. */
const FORM_TOKEN = 'form_token';

/**
 * The token in all forms of one session. Another site cannot read the token, because it cannot read the pages
 * of the session.
 *
 * @param seed the secret of the session, or of the visitor's cookie before a login
 */
export function formToken(seed: string): string {
  return createHmac('sha256', seed).update('svc form').digest('base64url');
}

/** Whether the token in a form belongs to this seed. The time does not depend on where the tokens differ. */
export function isFormToken(seed: string, given: string): boolean {
  const expected = Buffer.from(formToken(seed));
  const sent = Buffer.from(given);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

/** The hidden form field with the token. */
export function formTokenField(seed: string): Html {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${formToken(seed)}">`;
}

/**
 * Whether a browser sent this request from a page of the same origin. A request that does not name its origin
 * passes too, because old browsers and programs send such requests. The form token of such a request decides.
 */
export function isFromOwnPage({ headers }: Request): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  const origin = headers.get('origin');
  return origin === null || URL.parse(origin)?.host === headers.get('host')?.toLowerCase();
}

const FOREIGN: FormRefusal = {
  status: 403,
  message:
    'The form was not sent from this site, or it is too old. Open the page again and send it from there.',
};

/**
 * Reads the form of a request that changes something. Forms from other sites are refused: the browser names
 * the origin, and only svc's own pages have the token.
 *
 * @param seed the seed of the form token; null: the visitor has no seed
 * @param mostBytes maximum size of the form, see {@link readForm}
 */
export async function guardedForm(
  visit: Visit,
  seed: string | null,
  mostBytes?: number,
): Promise<Form | FormRefusal> {
  if (!isFromOwnPage(visit.request) || seed === null) return FOREIGN;
  const form = await readForm(visit.request, mostBytes);
  if (!(form instanceof Form)) return form;
  return isFormToken(seed, form.text(FORM_TOKEN)) ? form : FOREIGN;
}
