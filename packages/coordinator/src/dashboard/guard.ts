import { FORM_TOKEN, isFormToken, isFromOwnPage } from '../web/csrf.ts';
import { Form, readForm } from '../web/forms.ts';
import type { Visit } from '../web/site.ts';

/** A form that is not taken. */
export type Refused = { readonly status: 400 | 403 | 413 | 415; readonly message: string };

const FOREIGN: Refused = {
  status: 403,
  message:
    'The form was not sent from this site, or it is too old. Open the page again and send it from there.',
};

/**
 * Reads the form of a request that changes something. Another site cannot send one: its browser names where the form
 * comes from, and only our own pages know the token of the session.
 *
 * @param seed of the form token; null: the visitor has none
 * @param mostBytes of the form, see {@link readForm}
 */
export async function guardedForm(
  visit: Visit,
  seed: string | null,
  mostBytes?: number,
): Promise<Form | Refused> {
  if (!isFromOwnPage(visit.request) || seed === null) return FOREIGN;
  const form = await readForm(visit.request, mostBytes);
  if (!(form instanceof Form)) return { status: form.status, message: form.refused };
  return isFormToken(seed, form.text(FORM_TOKEN)) ? form : FOREIGN;
}
