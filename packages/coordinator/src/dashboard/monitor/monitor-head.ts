import { MASK } from '@svc/shared/secret.ts';
import { urlSecrets, withoutUserInfo } from '@svc/shared/url-secrets.ts';
import type { AnswerOf } from '../../api/endpoint.ts';
import type { MONITOR } from '../../api/routes/monitors.ts';
import { type Html, html, NO_HTML, safeHref } from '../../web/html.ts';
import type { DashboardRequest } from '../dashboard-page.ts';
import { pageHead, warningNotices } from '../page-parts.ts';
import { monitorState } from '../state-labels.ts';

/** A monitor in the API's answers. */
export type MonitorView = AnswerOf<typeof MONITOR.read>;

/** The pages of a monitor in their order. */
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
  { path: 'copy', label: 'Copy', look: 'button' },
  { path: 'delete', label: 'Remove', look: 'button button-danger' },
] as const;

/**
 * The head of every page about a monitor, with its name, state, target and actions, and links to its pages.
 */
export function monitorHead(
  monitor: MonitorView,
  view: View,
  { canOpen, formToken }: Pick<DashboardRequest, 'canOpen' | 'formToken'>,
): Html {
  const { id, name, status, active, type } = monitor;
  return html`${pageHead(name, {
    above: [{ href: '/', label: 'Monitors' }],
    actions: html`${canOpen(`/monitors/${id}/pause`, 'POST') ? pauseButton(id, active, formToken) : NO_HTML}${actionsOf(id, canOpen)}`,
    lead: html`<span class="row"><span id="monitor-state" data-live>${monitorState(status, active)}</span><span>${type.toUpperCase()}</span>${targetOf(monitor)}</span>`,
  })}
${warningNotices(monitor.warnings)}
<nav class="views" aria-label="${`Pages of ${name}`}"><ul class="plain-list row">${VIEWS.map(
    ({ path, label }) =>
      html`<li><a href="${`/monitors/${id}${path}`}"${label === view ? html` aria-current="page"` : NO_HTML}>${label}</a></li>`,
  )}</ul></nav>`;
}

/** Links to the pages that change the monitor, if the session may open them. */
function actionsOf(id: string, canOpen: DashboardRequest['canOpen']): Html {
  const links = ACTIONS.map(({ path, ...link }) => ({ ...link, href: `/monitors/${id}/${path}` }));
  return html`${links
    .filter(({ href }) => canOpen(href))
    .map(({ href, label, look }) => html`<a class="${look}" href="${href}">${label}</a>`)}`;
}

/** The target without its secrets. The target of an HTTP monitor is a link if it has no secrets. */
function targetOf(monitor: MonitorView): Html {
  if (monitor.type !== 'http') return html`<span>${monitor.uri}</span>`;
  const { url } = monitor;
  const href = urlSecrets.isIn(url) ? null : safeHref(url);
  if (href === null) return html`<span>${withoutUserInfo(urlSecrets.replaced(url, MASK))}</span>`;
  return html`<a href="${href}" rel="noreferrer noopener">${url}</a>`;
}

/** The button that pauses a monitor, or resumes a paused one. */
function pauseButton(id: string, isActive: boolean, formToken: Html): Html {
  const [action, label] = isActive ? ['pause', 'Pause'] : ['resume', 'Resume'];
  return html`<form method="post" action="/monitors/${id}/${action}">${formToken}<button>${label}</button></form>`;
}
