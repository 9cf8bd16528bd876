import { html, NO_HTML } from '../../web/html.ts';
import type { Visit } from '../../web/site.ts';
import { linkButton } from './access-html.ts';
import { type FormPlace, formPage } from './answers.ts';
import { formSeed } from './visitor-forms.ts';

type LinkPage = {
  readonly title: string;
  readonly intro: string;
  readonly button: string;
  /** Path below the page. */
  readonly action: string;
};

/** A page with one button, as that of a link in a mail. The button sends the token of the address, where there is one. */
export function linkPage(visit: Visit, place: FormPlace, shown: LinkPage): Response {
  const seed = formSeed(visit);
  const token = visit.url.searchParams.get('token');
  const tokenField = token === null ? NO_HTML : html`<input type="hidden" name="token" value="${token}">`;
  const fields = html`${seed.field}${tokenField}`;
  const body = linkButton(place, { ...shown, fields });
  return formPage(place, { title: shown.title, body, cookies: [seed.cookie] });
}
