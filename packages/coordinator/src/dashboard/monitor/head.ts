import { type Html, html, NO_HTML, safeHref } from '../../web/html.ts';
import { monitorState } from '../monitor-state.ts';
import { pageHead } from '../page-head.ts';
import type { ShownMonitor } from './shown.ts';

/** The pages of a monitor, in their order. */
const VIEWS = [
  { path: '', label: 'Overview' },
  { path: '/results', label: 'Results' },
  { path: '/changes', label: 'Changes' },
  { path: '/deliveries', label: 'Deliveries' },
  { path: '/what-if', label: 'What if' },
] as const;
export type View = (typeof VIEWS)[number]['label'];

/** The head of each page of a monitor: its name and state, what is checked, and its other pages. */
export function monitorHead(monitor: ShownMonitor, view: View): Html {
  const { id, name, status, active, type } = monitor;
  return html`${pageHead(name, {
    above: [{ href: '/', label: 'Monitors' }],
    lead: html`<span class="row">${monitorState(status, active)}<span>${type.toUpperCase()}</span>${targetOf(monitor)}</span>`,
  })}
${monitor.warnings.map((warning) => html`<p class="notice notice-warning">${warning}</p>`)}
<nav class="views" aria-label="${`Pages of ${name}`}"><ul class="plain-list row">${VIEWS.map(
    ({ path, label }) =>
      html`<li><a href="${`/monitors/${id}${path}`}"${label === view ? html` aria-current="page"` : NO_HTML}>${label}</a></li>`,
  )}</ul></nav>`;
}

/** The target; that of an HTTP monitor is a link. */
function targetOf({ url, uri }: ShownMonitor): Html {
  const href = url === undefined ? null : safeHref(url);
  if (href === null) return html`<span>${url ?? uri}</span>`;
  return html`<a href="${href}" rel="noreferrer noopener">${url}</a>`;
}
