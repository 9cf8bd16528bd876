import type { RegionText } from '@svc/shared/regions.ts';
import { type SystemView, systemState } from '../../api/routes/exports.ts';
import { stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, durationText } from '../../web/times.ts';
import type { DashboardPage } from '../dashboard-page.ts';
import { pageHead } from '../page-parts.ts';

/** Names of the parts whose readiness the API reports. */
const PARTS: Readonly<Record<string, string>> = { nats: 'NATS', database: 'Database' };
const MIB = 1_048_576;
/** A stream counts as nearly full if its size exceeds this share of its maximum size. */
const FULL_SHARE = 0.8;

const figures = new Intl.NumberFormat('en');

/** The page about the state of svc itself. */
export const servicePage: DashboardPage = {
  method: 'GET',
  path: '/service',
  scope: 'read',
  navigation: { label: 'Service', group: 'Operate' },
  async handle({ api, now, regionText }) {
    const system = await api.read(systemState, {});
    return {
      title: 'Service',
      isLive: true,
      body: html`${pageHead('Service', { lead: html`svc ${system.version}` })}
<div id="service" class="stack-large" data-live>
${parts(system)}${queues(system)}${streams(system, regionText)}${overdue(system, now)}${exported(system, now)}${errors(system, now)}
</div>`,
    };
  },
};

function works(isWorking: boolean, word = 'Works', otherWord = 'Does not work'): Html {
  return isWorking ? stateLabel('operational', word) : stateLabel('down', otherWord);
}

function parts({ parts, leading, another_leads: isLedElsewhere, shards }: SystemView): Html {
  const leads =
    isLedElsewhere && !leading
      ? stateLabel('operational', 'Another coordinator leads')
      : works(leading, 'Leads', 'Does not lead');
  const idle =
    leading || isLedElsewhere
      ? NO_HTML
      : html` <span class="soft">Nothing is checked while no coordinator leads.</span>`;
  return html`<section class="stack"><h2>Parts</h2><dl class="facts">
<dt>Coordinator</dt><dd>${leads}${idle}</dd>
${shards.length > 1 ? html`<dt>Shards</dt><dd>${shardsText(shards)}</dd>` : NO_HTML}
${Object.entries(parts).map(([name, isWorking]) => html`<dt>${PARTS[name] ?? name}</dt><dd>${works(isWorking)}</dd>`)}
</dl></section>`;
}

/** Which shards this coordinator leads, which others lead, and which nobody leads. */
function shardsText(shards: SystemView['shards']): Html {
  const idsOf = (some: SystemView['shards']) => some.map(({ id }) => id).join(', ') || 'none';
  const unled = shards.filter(({ led }) => !led);
  const missing =
    unled.length === 0
      ? NO_HTML
      : html` ${stateLabel('down', `No coordinator leads ${idsOf(unled)}`)} <span class="soft">The monitors there are not checked.</span>`;
  return html`This coordinator leads ${idsOf(shards.filter(({ here }) => here))}. Others lead ${idsOf(shards.filter(({ led, here }) => led && !here))}.${missing}`;
}

function queues({ queues, monitors }: SystemView): Html {
  if (queues === null) return NO_HTML;
  const seconds = (value: number | null) => (value === null ? '–' : durationText(value * 1_000));
  const checked = monitors === null ? null : Object.values(monitors).reduce((sum, count) => sum + count, 0);
  return html`<section class="stack"><h2>Work</h2><dl class="facts">
${checked === null ? NO_HTML : html`<dt>Monitors</dt><dd>${figures.format(checked)}</dd>`}
<dt>Jobs under way</dt><dd>${figures.format(queues.jobs_in_flight)}</dd>
<dt>Waiting to be recorded</dt><dd>${figures.format(queues.events)}, the oldest for ${seconds(queues.results_age_seconds)}</dd>
<dt>Alerts to deliver</dt><dd>${figures.format(queues.deliveries)}</dd>
<dt>Summaries are behind by</dt><dd>${seconds(queues.rollups_behind_seconds)}</dd>
</dl></section>`;
}

function streams({ streams }: SystemView, regionText: RegionText): Html {
  if (streams.length === 0) return NO_HTML;
  return html`<section class="stack"><h2>Streams of results</h2>
<div class="table-frame" role="region" tabindex="0" aria-label="Streams of results"><table>
<thead><tr><th scope="col">Region</th><th scope="col">State</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">At most</th></tr></thead>
<tbody>${streams.map(({ region, bytes, max_bytes }) => {
    const isFull = bytes > max_bytes * FULL_SHARE;
    return html`<tr><th scope="row">${regionText(region)}</th><td>${isFull ? stateLabel('degraded', 'Nearly full') : works(true)}</td>
<td class="number">${mebibytes(bytes)}</td><td class="number">${mebibytes(max_bytes)}</td></tr>`;
  })}</tbody></table></div></section>`;
}

function mebibytes(bytes: number): string {
  return `${new Intl.NumberFormat('en', { maximumFractionDigits: 1 }).format(bytes / MIB)} MiB`;
}

function overdue({ deliveries }: SystemView, now: number): Html {
  if (deliveries.overdue.length === 0) return NO_HTML;
  return html`<section class="stack"><h2>Alerts that are late</h2><ul class="stack plain-list">${deliveries.overdue.map(
    ({ notification_id, monitors, oldest_at }) =>
      html`<li class="notice notice-warning">Channel ${notification_id} has alerts about ${monitors} ${monitors === 1 ? 'monitor' : 'monitors'}, the oldest from ${age(Date.parse(oldest_at), now)}.</li>`,
  )}</ul></section>`;
}

function exported({ export: { endpoints } }: SystemView, now: number): Html {
  if (endpoints.length === 0) return NO_HTML;
  return html`<section class="stack"><h2>Export over OTLP</h2>
<div class="table-frame" role="region" tabindex="0" aria-label="Export over OTLP"><table>
<thead><tr><th scope="col">Endpoint</th><th scope="col">State</th><th scope="col" class="number">Monitors</th><th scope="col">Encoding</th><th scope="col" class="number">Points dropped</th><th scope="col">Last success</th></tr></thead>
<tbody>${endpoints.map(
    ({
      endpoint,
      failing,
      monitors,
      encoding,
      points_dropped,
      last_success_at,
      last_error,
    }) => html`<tr><th scope="row" class="text-cell">${endpoint}</th>
<td>${works(!failing)}${failing && last_error !== null ? html`<span class="field-error target">${last_error.message}</span>` : NO_HTML}</td>
<td class="number">${figures.format(monitors)}</td>
<td class="soft">${encoding === 'json' ? 'JSON' : 'protobuf'}</td><td class="number">${figures.format(points_dropped)}</td>
<td class="soft">${last_success_at === null ? 'never' : age(Date.parse(last_success_at), now)}</td></tr>`,
  )}</tbody></table></div></section>`;
}

function errors({ errors }: SystemView, now: number): Html {
  if (errors.length === 0) return NO_HTML;
  return html`<section class="stack"><h2>Last errors and alarms</h2>
<div class="table-frame" role="region" tabindex="0" aria-label="Last errors and alarms"><table>
<thead><tr><th scope="col">What</th><th scope="col" class="number">Times</th><th scope="col">Last</th></tr></thead>
<tbody>${errors.map(
    ({
      message,
      detail,
      count,
      last_at,
    }) => html`<tr><th scope="row" class="text-cell">${message}<span class="target soft small">${detail}</span></th>
<td class="number">${figures.format(count)}</td><td class="soft">${age(Date.parse(last_at), now)}</td></tr>`,
  )}</tbody></table></div></section>`;
}
