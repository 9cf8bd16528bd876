import { idOf } from '../../api/endpoint.ts';
import { monitorDeliveries } from '../../api/routes/deliveries.ts';
import { MONITOR } from '../../api/routes/monitors.ts';
import { monitorResults, monitorTransitions } from '../../api/routes/results.ts';
import { monitorPhases, monitorSeries, monitorUptime } from '../../api/routes/series.ts';

import { CHARTS_SCRIPT } from '../../web/charts/assets.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardAnswer, DashboardRequest } from '../page.ts';
import { MONITOR_STYLES } from './assets.ts';
import { changesList } from './changes-list.ts';
import { channelNames } from './channel-names.ts';
import { deliveriesList } from './deliveries-list.ts';
import { monitorHead } from './head.ts';
import { latencyChart } from './latency-section.ts';
import { maintenanceAround, maintenanceNotice } from './maintenance-notice.ts';
import { phasesChart } from './phases-section.ts';
import { chartControls, chosenCharts } from './ranges.ts';
import { regionsOf, regionsSection } from './regions-section.ts';
import { resultsList } from './results-list.ts';
import type { MonitorView } from './shown.ts';
import { uptimeSection } from './uptime-section.ts';

/** Newest entries of each history that the overview shows. */
const NEWEST = 5;

/** Everything about a monitor at a glance: uptime, charts, regions, and the newest of each history. */
export async function overviewOfMonitor(request: DashboardRequest): Promise<DashboardAnswer> {
  const { api, query, now } = request;
  const id = idOf(request);
  const choice = chosenCharts(query);
  const monitor = await api.read(MONITOR.read, { id });
  const [uptime, series, phases, changes, deliveries, results, maintenance] = await Promise.all([
    api.read(monitorUptime, { id }),
    api.read(monitorSeries, { id, ...choice }),
    api.read(monitorPhases, { id, ...choice }),
    api.read(monitorTransitions, { id, limit: NEWEST }),
    api.read(monitorDeliveries, { id, limit: NEWEST }),
    api.read(monitorResults, { id, limit: NEWEST }),
    maintenanceAround(api, id),
  ]);
  const channels = await channelNames(
    api,
    deliveries.data.map(({ notification_id: id }) => id),
  );
  return {
    title: monitor.name,
    styles: MONITOR_STYLES,
    scripts: [CHARTS_SCRIPT],
    isLive: true,
    body: html`${monitorHead(monitor, 'Overview', request)}
${maintenanceNotice(maintenance)}
<div class="stack-large">
${uptimeSection(uptime)}
<section aria-labelledby="latency" class="stack">
<h2 id="latency">Latency</h2>
${chartControls(choice, regionsOf(monitor, series))}
${latencyChart(series)}
<h3>Where the time goes</h3>
${phasesChart(phases)}
</section>
<section aria-labelledby="regions" class="stack"><h2 id="regions">Regions</h2><div id="region-figures" data-live>${regionsSection(monitor, series, now)}</div></section>
${newest('Changes', changesList(changes.data), changes, id)}
${newest('Deliveries', deliveriesList(deliveries.data, channels), deliveries, id)}
${newest('Results', resultsList(results.data), results, id)}
${settings(monitor)}
</div>`,
  };
}

const EMPTY: Readonly<Record<'Changes' | 'Deliveries' | 'Results', string>> = {
  Changes: 'The status has not changed yet.',
  Deliveries: 'No alert about this monitor has been sent.',
  Results: 'No region has reported yet. The first result comes within a period.',
};

/** The newest entries of a history, with a link to all of them. */
function newest(
  title: keyof typeof EMPTY,
  list: Html,
  { data }: { readonly data: readonly unknown[] },
  id: number,
): Html {
  const name = title.toLowerCase();
  return html`<section aria-labelledby="${name}" class="stack"><h2 id="${name}">${title}</h2>
<div id="newest-${name}" class="stack" data-live>
${data.length === 0 ? html`<p class="soft">${EMPTY[title]}</p>` : html`${list}<p><a href="${`/monitors/${id}/${name}`}">All ${name}</a></p>`}
</div></section>`;
}

function settings(monitor: MonitorView): Html {
  const { description, periodicity, timeout, retry, degraded_at: degradedAt, regions } = monitor;
  return html`<section aria-labelledby="settings" class="stack"><h2 id="settings">Settings</h2>
<dl class="facts">
${description === null ? NO_HTML : html`<dt>Description</dt><dd>${description}</dd>`}
<dt>Checked every</dt><dd>${periodicity}</dd>
<dt>Time-out</dt><dd>${latencyText(timeout === 0 ? 45_000 : timeout)} for each attempt</dd>
<dt>Retries</dt><dd>${retry}</dd>
<dt>Degraded above</dt><dd>${degradedAt === 0 ? 'never' : latencyText(degradedAt)}</dd>
<dt>Regions</dt><dd>${regions === null ? 'every region with an agent' : regions.join(', ')}</dd>
</dl></section>`;
}
