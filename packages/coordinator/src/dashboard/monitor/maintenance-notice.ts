import type { WindowView } from '../../api/routes/maintenance.ts';
import { WINDOW } from '../../api/routes/maintenance.ts';
import { stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import type { PageApi } from '../page.ts';

/** Most windows of a monitor among which the next one is looked for. */
const MOST_PLANNED = 100;

type Around = { readonly active: readonly WindowView[]; readonly next: WindowView | null };

/** The maintenance windows of a monitor that are under way, and the one that comes next. */
export async function maintenanceAround(api: PageApi, monitor: number): Promise<Around> {
  const list = (state: WindowView['state'], limit: number) =>
    api.read(WINDOW.list, { monitor_id: monitor, state, limit });
  const [active, planned] = await Promise.all([list('active', 10), list('planned', MOST_PLANNED)]);
  const [next = null] = planned.data.toSorted((a, b) => beginOf(a) - beginOf(b));
  return { active: active.data, next };
}

function beginOf({ occurrence }: WindowView): number {
  return occurrence === null ? Number.POSITIVE_INFINITY : Date.parse(occurrence.starts_at);
}

/** Says which maintenance holds the alerts of the monitor, until when, and which comes next. */
export function maintenanceNotice({ active, next }: Around): Html {
  return html`<div id="monitor-maintenance" class="stack" data-live>${active.map(
    (window) =>
      html`<p class="notice">${stateLabel('maintenance', 'Under maintenance')} by ${linkTo(window)} until ${timeOf(window.occurrence?.ends_at)}. Alerts are held until then, and uptime leaves the time out.</p>`,
  )}${
    next === null
      ? NO_HTML
      : html`<p class="soft">Next maintenance: ${linkTo(next)}, from ${timeOf(next.occurrence?.starts_at)} to ${timeOf(next.occurrence?.ends_at)}.</p>`
  }</div>`;
}

function linkTo({ id, title }: WindowView): Html {
  return html`<a href="/maintenance/${id}">${title}</a>`;
}

function timeOf(text: string | undefined): Html {
  return text === undefined ? html`its end` : instant(Date.parse(text));
}
