import { randomUUID } from 'node:crypto';
import type { CreatedTokenView, TokenView } from '../../api/answers.ts';
import { idOf } from '../../api/endpoint.ts';
import type { Called } from '../../api/in-process.ts';
import type { Problem } from '../../api/problem.ts';
import { createToken, listTokens, revokeToken } from '../../api/routes/access.ts';
import { TOKEN_SCOPES, type TokenScope } from '../../store/access/tokens.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, instant } from '../../web/times.ts';
import type { DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { KEY_FIELD } from '../forms/entries.ts';
import { offsetPaging, pageHead, readListPage } from '../page-parts.ts';

/**
 * Time within which a form that arrives again gets the same answer, ms. People click twice within a second.
 */
const KEPT_MS = 10_000;
/** Maximum number of answers that stay in memory. */
const MOST_KEPT = 100;

type Creation = { readonly at: number; readonly answer: Promise<Called<CreatedTokenView>> };

/**
 * Keeps the answers to creations of tokens, for forms that are sent twice. A browser
 * shows the answer to the last click, but only the first answer contains the secret.
 * An answer is used for 10 s. It stays in memory until the next creation after that.
 */
class Creations {
  readonly #kept = new Map<string, Creation>();

  /**
   * Creates a token, or returns the answer to a creation with the same key in the last 10 s.
   *
   * @param key identifies the session's token, the form, and the content of its fields
   * @param now epoch ms
   */
  createOnce(key: string, now: number, create: () => Creation['answer']): Creation['answer'] {
    this.#forget(now);
    const before = this.#kept.get(key);
    if (before !== undefined) return before.answer;
    const answer = create();
    this.#kept.set(key, { at: now, answer });
    const forget = () => this.#kept.delete(key);
    answer.then(({ problem }) => problem !== null && forget(), forget);
    return answer;
  }

  #forget(now: number): void {
    for (const [key, { at }] of this.#kept) {
      if (now - at < KEPT_MS && this.#kept.size <= MOST_KEPT) return;
      this.#kept.delete(key);
    }
  }
}

const LIMIT = 50;

const listPage: DashboardPage = {
  method: 'GET',
  path: '/tokens',
  scope: 'admin',
  navigation: { label: 'API tokens', group: 'Operate' },
  async handle(request) {
    const { api, query } = request;
    const tokens = await readListPage(query, (offset) => api.read(listTokens, { limit: LIMIT, offset }));
    return {
      title: 'API tokens',
      body: html`${pageHead('API tokens', {
        actions: html`<a class="button button-main" href="/tokens/new">New token</a>`,
        lead: 'Programs and people use the API with a token. A session of the dashboard can do what its token can.',
      })}
${tokenTable(request, tokens.data)}
${offsetPaging('/tokens', query, tokens)}`,
    };
  },
};

function tokenTable({ now, token: own }: DashboardRequest, tokens: readonly TokenView[]): Html {
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="API tokens"><table>
<thead><tr><th scope="col">Name</th><th scope="col">Scope</th><th scope="col">Made</th><th scope="col">Last used</th><th scope="col">Expires</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
<tbody>${tokens.map(
    ({ id, name, scope, operator, created_at, created_by, expires_at, last_used_at }) => html`<tr>
<th scope="row" class="text-cell">${name}${id === String(own.id) ? html` <span class="soft small">(this session)</span>` : NO_HTML}</th><td>${scope}</td>
<td class="soft">${age(Date.parse(created_at), now)}${created_by === null ? NO_HTML : html` by ${created_by.name}`}</td>
<td class="soft">${last_used_at === null ? 'never' : age(Date.parse(last_used_at), now)}</td>
<td class="soft">${expires_at === null ? 'never' : instant(Date.parse(expires_at))}</td>
<td class="number">${operator ? html`<span class="soft small">set by SVC_API_TOKEN</span>` : html`<a href="/tokens/${id}/revoke">Revoke<span class="unseen"> ${name}</span></a>`}</td></tr>`,
  )}</tbody></table></div>`;
}

const newPage: DashboardPage = {
  method: 'GET',
  path: '/tokens/new',
  scope: 'admin',
  async handle(request) {
    return { title: 'New token', body: tokenForm(request, null) };
  },
};

function createPage(creations: Creations): DashboardPage {
  return {
    method: 'POST',
    path: '/tokens/new',
    scope: 'admin',
    async handle(request) {
      const { form, token, now } = request;
      const key = JSON.stringify([token.id, ...FIELDS.map((name) => form.text(name))]);
      const isKeyed = form.text(KEY_FIELD) !== '';
      const answer = await (isKeyed
        ? creations.createOnce(key, now, () => create(request))
        : create(request));
      if (answer.problem !== null) {
        const { problem } = answer;
        return { title: 'New token', body: tokenForm(request, problem), status: problem.status };
      }
      return { title: 'Token created', body: createdBody(answer.body) };
    },
  };
}

/** The form's fields that identify the creation of a token. */
const FIELDS = [KEY_FIELD, 'name', 'scope', 'days'] as const;

function create({ api, form, now }: DashboardRequest): Promise<Called<CreatedTokenView>> {
  const days = form.text('days');
  const body = {
    name: form.text('name'),
    scope: form.text('scope'),
    expires_at: /^\d{1,4}$/.test(days) ? new Date(now + Number(days) * 86_400_000).toISOString() : null,
  };
  const key = form.text(KEY_FIELD);
  return api.call(createToken, {}, { body, headers: key === '' ? {} : { 'idempotency-key': key } });
}

/** The only page that shows the token. The page is the answer to the form and has no URL of its own. */
function createdBody({ name, scope, token, expires_at: expires }: CreatedTokenView): Html {
  return html`${pageHead('Token created', { above: [{ href: '/tokens', label: 'API tokens' }] })}
<p class="notice">Copy the token now: svc keeps only a hash of it, and cannot show it again.</p>
<dl class="facts"><dt>Name</dt><dd>${name}</dd><dt>Scope</dt><dd>${scope}</dd><dt>Expires</dt><dd>${expires === null ? 'never' : instant(Date.parse(expires))}</dd><dt>Token</dt><dd><code class="secret">${token}</code></dd></dl>
<p><a class="button" href="/tokens">Done</a></p>`;
}

const revokePage: DashboardPage = {
  method: 'GET',
  path: '/tokens/{id}/revoke',
  scope: 'admin',
  async handle({ ids, formToken, token }) {
    return {
      title: 'Revoke a token',
      body: html`${pageHead('Revoke this token?', { above: [{ href: '/tokens', label: 'API tokens' }] })}
<form class="form" method="post" action="/tokens/${ids.id}/revoke">${formToken}
<p>Everybody who uses token ${ids.id} is refused at once. This cannot be undone.</p>
${ids.id === token.id ? html`<p class="notice notice-warning">It is the token of this session: you will be logged out.</p>` : NO_HTML}
<label class="choice"><input type="checkbox" name="cascade" value="true">Also revoke the tokens that it created</label>
<p class="row"><button class="button-danger">Revoke</button><a class="button" href="/tokens">Keep it</a></p></form>`,
    };
  },
};

const revokedPage: DashboardPage = {
  method: 'POST',
  path: '/tokens/{id}/revoke',
  scope: 'admin',
  async handle(request) {
    const { form, api } = request;
    const id = idOf(request);
    const { problem } = await api.call(revokeToken, { id, cascade: String(form.has('cascade')) });
    if (problem === null) return { redirect: '/tokens', notice: `Token ${id} is revoked.` };
    return {
      title: 'Revoke a token',
      status: problem.status,
      body: html`${pageHead('The token was not revoked', { above: [{ href: '/tokens', label: 'API tokens' }] })}
<p class="notice notice-error" role="alert">${problem.message}</p>`,
    };
  },
};

/** All pages about API tokens. */
export function tokenPages(): readonly DashboardPage[] {
  return [listPage, newPage, createPage(new Creations()), revokePage, revokedPage];
}

/** What each scope allows, in words. */
const SCOPES: Readonly<Record<TokenScope, string>> = {
  read: 'sees everything but secrets',
  write: 'also sees secrets, and changes what is declared',
  admin: 'also manages tokens and reads the audit trail',
};

/** Choices for the lifetime of a new token, days; '': the token does not expire. */
const LIVES = [
  ['90', '90 days'],
  ['365', 'one year'],
  ['30', '30 days'],
  ['7', '7 days'],
  ['', 'does not expire'],
] as const;

/** The form of a new token, with the typed values and their errors. */
function tokenForm({ form, formToken }: DashboardRequest, problem: Problem | null): Html {
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
