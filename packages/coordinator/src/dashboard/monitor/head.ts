import { MASK } from '@svc/shared/secret.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';
import { withoutUserInfo } from '@svc/shared/user-info.ts';
import { type Html, html, NO_HTML, safeHref } from '../../web/html.ts';
import { monitorState } from '../monitor-state.ts';
import type { DashboardRequest } from '../page.ts';
import { pageHead } from '../page-parts.ts';
import type { MonitorView } from './shown.ts';

/** The pages of a monitor, in their order. */
const VIEWS = [
  { path: '', label: 'Overview' },
  { path: '/results', label: 'Results' },
  { path: '/changes', label: 'Changes' },
  { path: '/deliveries', label: 'Deliveries' },
  { path: '/what-if', label: 'What if' },
] as const;
export type View = (typeof VIEWS)[number]['label'];

const ACTIONS = [
  { path: 'edit', label: 'Edit', look: 'button' },
  { path: 'delete', label: 'Remove', look: 'button button-danger' },
] as const;

/** The head of each page of a monitor: its name and state, what is checked, and its other pages. */
export function monitorHead(
  monitor: MonitorView,
  view: View,
  { leadsTo }: Pick<DashboardRequest, 'leadsTo'>,
): Html {
  const { id, name, status, active, type } = monitor;
  return html`${pageHead(name, {
    above: [{ href: '/', label: 'Monitors' }],
    actions: actionsOf(id, leadsTo),
    lead: html`<span class="row"><span id="monitor-state" data-live>${monitorState(status, active)}</span><span>${type.toUpperCase()}</span>${targetOf(monitor)}</span>`,
  })}
${monitor.warnings.map((warning) => html`<p class="notice notice-warning">${warning}</p>`)}
<nav class="views" aria-label="${`Pages of ${name}`}"><ul class="plain-list row">${VIEWS.map(
    ({ path, label }) =>
      html`<li><a href="${`/monitors/${id}${path}`}"${label === view ? html` aria-current="page"` : NO_HTML}>${label}</a></li>`,
  )}</ul></nav>`;
}

/** Links to what can be done with the monitor: pages that exist, and that the visitor may open. */
function actionsOf(id: string, leadsTo: DashboardRequest['leadsTo']): Html {
  const links = ACTIONS.map(({ path, ...link }) => ({ ...link, href: `/monitors/${id}/${path}` }));
  return html`${links
    .filter(({ href }) => leadsTo(href))
    .map(({ href, label, look }) => html`<a class="${look}" href="${href}">${label}</a>`)}`;
}

/** The target without its secrets; that of an HTTP monitor without any is a link. */
function targetOf(monitor: MonitorView): Html {
  if (monitor.type !== 'http') return html`<span>${monitor.uri}</span>`;
  const { url } = monitor;
  const href = urlSecrets.isIn(url) ? null : safeHref(url);
  if (href === null) return html`<span>${withoutUserInfo(urlSecrets.replaced(url, MASK))}</span>`;
  return html`<a href="${href}" rel="noreferrer noopener">${url}</a>`;
}
