import type { ApiCalls } from '../api/in-process.ts';
import { Problem } from '../api/problem.ts';
import { tokenOfPurpose } from '../api/routes/access.ts';
import { type Token, type Tokens, tokenVersion } from '../store/access/tokens.ts';
import { secretCookieOf, setCookie } from '../web/cookies.ts';
import { formTokenField, guardedForm } from '../web/csrf.ts';
import { Form } from '../web/forms.ts';
import { html, localPath, NO_HTML } from '../web/html.ts';
import type { OneTimeLinks } from '../web/one-time-links.ts';
import { randomSecret } from '../web/sessions.ts';
import type { Visit } from '../web/site.ts';

import { pageResponse, plainPage, redirectResponse } from './shell.ts';

import type { Viewers } from './viewers.ts';

/** Name of the cookie that has the seed of the login form's token. */
const SEED_COOKIE = 'svc-visitor';
const SEED_LIFE_S = 3_600;
/** Maximum size of the login form, bytes. The bound is low, because anybody may send the form. */
const MOST_FORM_BYTES = 8_192;

type LoginParts = {
  readonly calls: ApiCalls;
  readonly tokens: Tokens;
  readonly viewers: Viewers;
  readonly links: OneTimeLinks;
};

type Shown = { readonly next: string; readonly link: string | null; readonly error: string | null };

/** The pages of the login with an API token, or with a link that works once. */
export class LoginPages {
  readonly #parts: LoginParts;

  constructor(parts: LoginParts) {
    this.#parts = parts;
  }

  /**
   * Shows the form for a token, or, after a login link was opened, the button that
   * logs in. A visitor who is logged in and opens no login link is redirected.
   */
  async showForm(visit: Visit): Promise<Response> {
    const next = localPath(visit.url.searchParams.get('next')) ?? '/';
    const link = visit.url.searchParams.get('link');
    if (link === null && (await this.#parts.viewers.findViewer(visit)) !== null)
      return redirectResponse(next);
    return loginPage(visit, { next, link, error: null }, 200);
  }

  /**
   * Logs in with the sent form. Every wrong token is refused
   * with the same message, until wrong tokens come too fast.
   */
  async takeForm(visit: Visit): Promise<Response> {
    const form = await guardedForm(visit, secretCookieOf(visit, SEED_COOKIE), MOST_FORM_BYTES);
    if (!(form instanceof Form)) {
      const { status, message } = form;
      this.#parts.calls.noteRefusal({ token: null, action: 'login', path: '', status, message }, visit);
      const error = form.status === 403 ? 'This form is too old. Please try again.' : form.message;
      return loginPage(visit, { next: '/', link: visit.url.searchParams.get('link'), error }, form.status);
    }
    const next = localPath(form.text('next')) ?? '/';
    const token = form.has('link')
      ? await this.#byLink(visit, form.text('link'))
      : this.#byToken(visit, form);
    if (token instanceof Problem) {
      const { status, headers } = token;
      const page = loginPage(visit, { next, link: null, error: token.message }, status);
      for (const [name, value] of Object.entries(headers)) page.headers.set(name, value);
      return page;
    }
    return redirectResponse(next, [await this.#parts.viewers.openSession(visit, token)]);
  }

  #byToken({ peer, requestId }: Visit, form: Form): Token | Problem {
    try {
      return this.#parts.calls.login(form.text('token').trim(), { peer, requestId });
    } catch (error) {
      return refusal(error, 'This token is not valid. It may be mistyped, expired or revoked.');
    }
  }

  async #byLink({ peer, requestId }: Visit, secret: string): Promise<Token | Problem> {
    const { links, tokens, calls } = this.#parts;
    const taken = await links.useLink(secret);
    const id = taken === null ? null : tokenOfPurpose(taken.purpose);
    const token = id === null ? null : tokens.find(id);
    try {
      const isValid = token !== null && taken?.detail === tokenVersion(token);
      if (!isValid || this.#parts.viewers.isTokenExpired(token)) {
        return calls.refuseLink({ peer, requestId });
      }
      calls.noteLogin(token, { peer, requestId });
      return token;
    } catch (error) {
      return refusal(
        error,
        'This link was already used or is too old. Make another with “svc login”, or log in with a token.',
      );
    }
  }
}

/**
 * Returns the refusal of a login in words for people.
 *
 * @throws the error itself, if it is no {@link Problem}
 */
function refusal(error: unknown, message: string): Problem {
  if (!(error instanceof Problem)) throw error;
  return error.code === 'rate-limited' ? error : new Problem('unauthorized', message);
}

function loginPage(visit: Visit, { next, link, error }: Shown, status: number): Response {
  const seed = secretCookieOf(visit, SEED_COOKIE) ?? randomSecret();
  const body = html`<h1>Log in</h1>
${error === null ? NO_HTML : html`<p class="notice notice-error" role="alert">${error}</p>`}
${visit.isSecure || isLocal(visit) ? NO_HTML : html`<p class="notice notice-warning">This connection is not encrypted: others on the network can read your token.</p>`}
<form class="form" method="post" action="/login">
${formTokenField(seed)}<input type="hidden" name="next" value="${next}">
${
  link === null
    ? html`<div class="field"><label for="token">API token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus aria-describedby="token-hint">
<p class="hint" id="token-hint"><code>npm start</code> stores the first token in the file <code>data/api-token</code>. <code>svc login</code> prints a link that logs you in.</p></div>
<button class="button-main">Log in</button>`
    : html`<input type="hidden" name="link" value="${link}">
<p>This link logs this browser in to the dashboard. It works once.</p>
<button class="button-main">Log in to the dashboard</button>`
}
</form>`;
  const cookie = setCookie(visit, SEED_COOKIE, seed, SEED_LIFE_S);
  return pageResponse(plainPage({ title: 'Log in', body }), { status, cookies: [cookie] });
}

function isLocal({ host }: Visit): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || host.startsWith('127.');
}
