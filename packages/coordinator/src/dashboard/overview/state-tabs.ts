import type { MonitorStatesView } from '../../api/routes/monitors.ts';
import { SHOWN_STATES } from '../../store/monitor-overview.ts';
import { stateMark } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { MONITOR_STATES } from '../monitor-state.ts';
import { pathWith } from '../paging.ts';

/** How many monitors are in each state; each number is a link that shows those. */
export function stateTabs(
  query: URLSearchParams,
  { counts, under_maintenance: inMaintenance }: Pick<MonitorStatesView, 'counts' | 'under_maintenance'>,
): Html {
  const shown = query.get('state');
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const tab = (state: string | null, label: Html, count: number) =>
    html`<li><a id="state-${state ?? 'all'}" href="${pathWith('/', query, { state, offset: null })}"${
      shown === state ? html` aria-current="true"` : NO_HTML
    }>${label} <span class="count">${new Intl.NumberFormat('en').format(count)}</span></a></li>`;
  return html`<nav aria-label="Monitors by state"><ul class="tabs plain-list">
${tab(null, html`All`, total)}
${SHOWN_STATES.map((name) => {
  const { state, word } = MONITOR_STATES[name];
  const mark =
    counts[name] === 0
      ? html`<span class="soft">${stateMark(state)}</span>`
      : html`<span class="state state-${state}">${stateMark(state)}</span>`;
  return tab(name, html`${mark}${word}`, counts[name]);
})}${maintenanceTab(query, inMaintenance)}</ul></nav>`;
}

/** Monitors under maintenance have a state beside it: their tab stands apart, and is pressed and released by itself. */
function maintenanceTab(query: URLSearchParams, count: number): Html {
  const isShown = query.get('maintenance') === 'true';
  if (count === 0 && !isShown) return NO_HTML;
  const path = pathWith('/', query, { maintenance: isShown ? null : 'true', offset: null });
  return html`<li class="tab-apart"><a id="state-maintenance" href="${path}"${isShown ? html` aria-current="true"` : NO_HTML}>${maintenanceMark()}Under maintenance <span class="count">${new Intl.NumberFormat('en').format(count)}</span></a></li>`;
}

function maintenanceMark(): Html {
  return html`<span class="state state-maintenance">${stateMark('maintenance')}</span>`;
}
