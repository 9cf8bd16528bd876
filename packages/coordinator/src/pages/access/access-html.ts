import { type Html, html, NO_HTML } from '../../web/html.ts';
import { fill } from '../text/text.ts';
import type { FormPlace } from './answers.ts';

/** A form before or after a try. */
export type FormState = {
  /** The hidden field with the token of the form. */
  readonly token: Html;
  /** Path below the page to come back to. */
  readonly to: string;
  /** What was wrong with the last try; null: nothing. */
  readonly error: string | null;
};

/** The form that asks for the password of a page. */
export function passwordForm({ path, words }: FormPlace, { token, to, error }: FormState): Html {
  const { access } = words.text;
  return main(
    access.title,
    html`<p class="soft">${access.passwordIntro}</p>
<form class="form" method="post" action="${path}/access">
${token}<input type="hidden" name="to" value="${to}">
<div class="field"><label for="password">${access.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="512" autofocus${problemAttributes(error)}>
${problem(error)}</div>
<div><button class="button-main">${access.open}</button></div>
</form>`,
  );
}

/** The form that asks for an address to send a link to. */
export function addressForm(place: FormPlace, state: FormState): Html {
  const { access } = place.words.text;
  return main(
    access.title,
    html`<p class="soft">${access.addressIntro}</p>
${mailForm(place, state, { action: '/access', button: access.send })}`,
  );
}

/** A form with one field for an address. */
export function mailForm(
  { path, words }: FormPlace,
  { token, to, error }: FormState,
  { action, button }: { readonly action: string; readonly button: string },
): Html {
  return html`<form class="form" method="post" action="${path}${action}">
${token}<input type="hidden" name="to" value="${to}">
<div class="field"><label for="address">${words.text.access.address}</label>
<input id="address" name="address" type="email" autocomplete="email" inputmode="email" required maxlength="254"${problemAttributes(error)}>
${problem(error)}</div>
<div><button class="button-main">${button}</button></div>
</form>`;
}

/** What is said after a mail was asked for: the same whether one comes or not. */
export function mailAsked({ path, words }: FormPlace, sentence: string, again: string): Html {
  const { access } = words.text;
  return main(
    access.sentTitle,
    html`<p role="status">${sentence}</p>
<p class="soft">${access.nothingCame} <a href="${path}${again}">${access.again}</a></p>`,
  );
}

/** The page of a link in a mail: only its button does something. */
export function linkButton(
  place: FormPlace,
  {
    title,
    intro,
    button,
    action,
    fields,
  }: {
    readonly title: string;
    readonly intro: string;
    readonly button: string;
    /** Path below the page. */
    readonly action: string;
    readonly fields: Html;
  },
): Html {
  return main(
    title,
    html`<p class="soft">${intro}</p>
<form class="form" method="post" action="${place.path}${action}">${fields}<div><button class="button-main">${button}</button></div></form>`,
  );
}

/** A sentence, and where to go from there. */
export function notice({
  title,
  sentence,
  href,
  link,
}: {
  readonly title: string;
  readonly sentence: string;
  readonly href: string;
  readonly link: string;
}): Html {
  return main(
    title,
    html`<p role="status">${sentence}</p>
<p><a href="${href}">${link}</a></p>`,
  );
}

/** How long to wait, in words. */
export function tooMany({ words }: FormPlace, waitMs: number): string {
  const rounded = Math.ceil(waitMs / 1_000) * 1_000;
  return fill(words.text.access.tooMany, { duration: words.duration(rounded) });
}

function main(title: string, body: Html): Html {
  return html`<main id="content" class="stack"><h1>${title}</h1>
${body}</main>`;
}

function problem(error: string | null): Html {
  return error === null ? NO_HTML : html`<p class="field-error" id="problem" role="alert">${error}</p>`;
}

function problemAttributes(error: string | null): Html {
  return error === null ? NO_HTML : html` aria-invalid="true" aria-describedby="problem"`;
}
