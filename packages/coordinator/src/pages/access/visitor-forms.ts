import { secretCookieOf, setCookie } from '../../web/cookies.ts';
import { formTokenField, guardedForm } from '../../web/csrf.ts';
import { Form, type FormRefusal } from '../../web/forms.ts';
import { pageHeaders } from '../../web/headers.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { renderPage, type Theme } from '../../web/page-frame.ts';
import { randomSecret } from '../../web/sessions.ts';
import type { Visit } from '../../web/site.ts';
import { PAGE_STYLE } from '../page-assets.ts';
import { fillIn } from '../text/texts.ts';
import type { Words } from '../words.ts';

/** The address, language and theme of the page that a form belongs to. */
export type FormPlace = {
  /** Path of the page: `/status/main`, or '' on the page's own domain. */
  readonly path: string;
  readonly words: Words;
  readonly theme: Theme;
};

type Answer = {
  readonly title: string;
  readonly body: Html;
  /** HTTP status; the default is 200. */
  readonly status?: number;
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[];
  /** Value of the header `Retry-After`, seconds; left out: the answer does not have this header. */
  readonly retryAfterS?: number;
};

/** Makes a page for a single visitor. Caches do not store it, and search engines do not list it. */
export function formPage({ words, theme }: FormPlace, answer: Answer): Response {
  const { title, body, status = 200, cookies = [], retryAfterS } = answer;
  const text = renderPage({
    language: words.language,
    title,
    theme,
    kind: 'status-page status-page-form',
    styles: [PAGE_STYLE],
    body,
  });
  const headers = new Headers(pageHeaders({ cacheControl: 'private, no-store' }));
  headers.set('x-robots-tag', 'noindex');
  if (retryAfterS !== undefined) headers.set('retry-after', String(retryAfterS));
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(text, { status, headers });
}

/**
 * Redirects the visitor after a form (303).
 *
 * @param path a path of this host
 */
export function seeOther(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location: path, 'cache-control': 'private, no-store' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}

/** Name of the cookie that contains the seed of a visitor's form tokens. */
const SEED_COOKIE = 'svc-visitor';
const SEED_LIFE_S = 6 * 3_600;
/** Maximum size of a visitor's form, bytes. A form holds an address, a password and tokens at most. */
const MOST_BYTES = 8_192;

/** The hidden field with a form token, and the `Set-Cookie` header with the seed of the token. */
export type FormSeed = { readonly field: Html; readonly cookie: string };

/** Makes a form token from the seed in the visitor's cookie, or from a new seed. */
export function formSeed(visit: Visit): FormSeed {
  const seed = secretCookieOf(visit, SEED_COOKIE) ?? randomSecret();
  return { field: formTokenField(seed), cookie: setCookie(visit, SEED_COOKIE, seed, SEED_LIFE_S) };
}

/**
 * Reads a visitor's form.
 *
 * @returns the form, or the HTTP status of a refusal. 403:
 *   another site may have sent the form, or its token is too old
 */
export async function visitorForm(visit: Visit): Promise<Form | FormRefusal['status']> {
  const form = await guardedForm(visit, secretCookieOf(visit, SEED_COOKIE), MOST_BYTES);
  return form instanceof Form ? form : form.status;
}

/** The state of a form that is shown for the first time, or again after an error. */
export type FormState = {
  /** The hidden field with the form token. */
  readonly token: Html;
  /** Path below the page to which the visitor returns after the form. */
  readonly to: string;
  /** The error of the last attempt; null: there is no error. */
  readonly error: string | null;
};

/** Makes the form that asks for the password of a page. */
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

/** Makes the form that asks for a mail address, to which svc sends a link. */
export function addressForm(place: FormPlace, state: FormState): Html {
  const { access } = place.words.text;
  return main(
    access.title,
    html`<p class="soft">${access.addressIntro}</p>
${mailForm(place, state, { action: '/access', button: access.send })}`,
  );
}

/** Makes a form with one field for a mail address. */
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

/**
 * Makes the body of the page that follows a visitor's request for a mail. It is the same whether svc sends a
 * mail or not.
 */
export function mailAsked({ path, words }: FormPlace, sentence: string, again: string): Html {
  const { access } = words.text;
  return main(
    access.sentTitle,
    html`<p role="status">${sentence}</p>
<p class="soft">${access.nothingCame} <a href="${path}${again}">${access.again}</a></p>`,
  );
}

/**
 * Makes the body of the page behind a link in a mail. Opening the page has no effect, only its button has
 * one.
 */
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
    /** Path below the page to which the button sends its form. */
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

/** Makes the body of a page with a sentence and a link. */
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

/** Returns a sentence that says how long the visitor must wait. */
export function tooManyText({ words }: FormPlace, waitMs: number): string {
  const rounded = Math.ceil(waitMs / 1_000) * 1_000;
  return fillIn(words.text.access.tooMany, { duration: words.duration(rounded) });
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

type LinkPage = {
  readonly title: string;
  readonly intro: string;
  readonly button: string;
  /** Path below the page to which the button sends its form. */
  readonly action: string;
};

/**
 * Makes a page with one button, for links in mails and for signing out. If the
 * URL has a parameter `token`, the button sends the value of this parameter.
 */
export function linkPage(visit: Visit, place: FormPlace, shown: LinkPage): Response {
  const seed = formSeed(visit);
  const token = visit.url.searchParams.get('token');
  const tokenField = token === null ? NO_HTML : html`<input type="hidden" name="token" value="${token}">`;
  const fields = html`${seed.field}${tokenField}`;
  const body = linkButton(place, { ...shown, fields });
  return formPage(place, { title: shown.title, body, cookies: [seed.cookie] });
}
