import type { AuditView } from '../../api/answers.ts';
import { auditLines } from '../../api/routes/audit.ts';
import { AUDIT_OUTCOMES } from '../../store/access/audit.ts';
import { stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import type { DashboardPage } from '../dashboard-page.ts';
import { cursorPaging, pageHead } from '../page-parts.ts';

const LIMIT = 50;

const ACTORS: Readonly<Record<AuditView['actor'], string>> = {
  token: 'a token',
  nobody: 'no valid token',
  'declared-file': 'the declared file',
  settings: 'the settings',
};

/** The page of the audit trail. It lists changes, refusals and logins. */
export const auditPage: DashboardPage = {
  method: 'GET',
  path: '/audit',
  scope: 'admin',
  navigation: { label: 'Audit trail', group: 'Operate' },
  async handle({ api, query }) {
    const { data, next_cursor } = await api.read(auditLines, searchOf(query));
    return {
      title: 'Audit trail',
      body: html`${pageHead('Audit trail', { lead: 'Changes, refusals and logins of the last 400 days, the newest first.' })}
${searchForm(query)}
${data.length === 0 ? html`<p class="empty soft">No line matches.</p>` : lines(data)}
${cursorPaging('/audit', query, next_cursor)}`,
    };
  },
};

function searchOf(query: URLSearchParams) {
  const given = (name: string) => query.get(name)?.trim() || null;
  return {
    limit: LIMIT,
    outcome: given('outcome'),
    object: given('object'),
    token_id: given('token_id'),
    cursor: given('cursor'),
  };
}

function searchForm(query: URLSearchParams): Html {
  return html`<form class="search" method="get" action="/audit" role="search" aria-label="Audit trail">
<div class="field"><label for="object">Object</label>
<input id="object" name="object" type="search" maxlength="300" placeholder="monitors/12" value="${query.get('object') ?? ''}"></div>
<div class="field"><label for="outcome">Outcome</label>
<select id="outcome" name="outcome"><option value="">All</option>${AUDIT_OUTCOMES.map(
    (outcome) =>
      html`<option${query.get('outcome') === outcome ? html` selected` : NO_HTML}>${outcome}</option>`,
  )}</select></div>
<button>Search</button></form>`;
}

function lines(data: readonly AuditView[]): Html {
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Audit trail"><table>
<thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Outcome</th></tr></thead>
<tbody>${data.map(
    ({ at, actor, token, action, object, outcome, detail, peer }) => html`<tr>
<td class="soft since">${instant(at)}</td>
<td>${token?.name ?? ACTORS[actor]}${peer === null ? NO_HTML : html`<span class="target soft small">${peer}</span>`}</td>
<th scope="row">${action} <code>${object}</code>${detail === null ? NO_HTML : html`<span class="target soft small">${detail}</span>`}</th>
<td>${outcome === 'done' ? html`<span class="soft">done</span>` : stateLabel(outcome === 'refused' ? 'degraded' : 'down', outcome)}</td></tr>`,
  )}</tbody></table></div>`;
}
