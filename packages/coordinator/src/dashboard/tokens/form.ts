import { randomUUID } from 'node:crypto';
import type { Problem } from '../../api/problem.ts';
import { TOKEN_SCOPES, type TokenScope } from '../../store/tokens.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardRequest } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { KEY_FIELD } from '../resources/draft.ts';

/** The scopes with what they allow. */
const SCOPES: Readonly<Record<TokenScope, string>> = {
  read: 'sees everything but secrets',
  write: 'also sees secrets, and changes what is declared',
  admin: 'also manages tokens and reads the audit trail',
};

/** Lives of a new token, days, with their names; '' is no end. */
const LIVES = [
  ['90', '90 days'],
  ['365', 'one year'],
  ['30', '30 days'],
  ['7', '7 days'],
  ['', 'does not expire'],
] as const;

/** The form of a new token, with what was typed and what is wrong with it. */
export function tokenForm({ form, formToken }: DashboardRequest, problem: Problem | null): Html {
  const messageAt = (at: string) => problem?.errors.find(({ pointer }) => pointer === at)?.message;
  const [nameError, lifeError] = [messageAt('/name'), messageAt('/expires_at')];
  const isAtField = nameError !== undefined || lifeError !== undefined;
  const general = problem !== null && !isAtField ? problem.message : null;
  const scope = form.text('scope') || 'read';
  return html`${pageHead('New token', { above: [{ href: '/tokens', label: 'API tokens' }] })}
${general === null ? NO_HTML : html`<p class="notice notice-error" role="alert">${general}</p>`}
<form class="form" method="post" action="/tokens/new">${formToken}
<input type="hidden" name="${KEY_FIELD}" value="${randomUUID()}">
<div class="field"><label for="name">Purpose</label>
<input id="name" name="name" required maxlength="256" value="${form.text('name')}" aria-describedby="name-hint"${
    nameError === undefined ? NO_HTML : html` aria-invalid="true"`
  }>
<p class="${nameError === undefined ? 'hint' : 'field-error'}" id="name-hint">${nameError === undefined ? 'For example: Terraform, or your name.' : `It ${nameError}.`}</p></div>
<fieldset class="field"><legend>Scope</legend>
${TOKEN_SCOPES.map(
  (each) =>
    html`<label class="choice"><input type="radio" name="scope" value="${each}"${each === scope ? html` checked` : NO_HTML}><span>${each} <span class="soft">${SCOPES[each]}</span></span></label>`,
)}</fieldset>
<div class="field"><label for="days">Expires after</label>
<select id="days" name="days"${lifeError === undefined ? NO_HTML : html` aria-invalid="true" aria-describedby="days-hint"`}>${LIVES.map(
    ([days, label]) =>
      html`<option value="${days}"${days === form.text('days') && form.has('days') ? html` selected` : NO_HTML}>${label}</option>`,
  )}</select>${lifeError === undefined ? NO_HTML : html`<p class="field-error" id="days-hint">It ${lifeError}.</p>`}</div>
<p class="row"><button class="button-main">Create the token</button><a class="button" href="/tokens">Cancel</a></p>
</form>`;
}
