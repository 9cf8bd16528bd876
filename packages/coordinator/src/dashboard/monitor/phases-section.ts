import type { Phases } from '@svc/shared/messages/check-result.ts';
import type { PhasesView } from '../../api/routes/series.ts';
import { renderStackChart } from '../../web/charts/stack-chart.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html } from '../../web/html.ts';
import { RANGE_WORDS } from './ranges.ts';
import { counted } from './shown.ts';

/** The phases of a check, in their order. */
export const PHASE_WORDS: Readonly<Record<keyof Phases, string>> = {
  dns: 'Name',
  connect: 'Connection',
  tls: 'TLS',
  first_byte: 'First byte',
  transfer: 'Transfer',
};
export const PHASE_NAMES = Object.keys(PHASE_WORDS) as (keyof Phases)[];

const FILLS = [1, 2, 3, 4, 5] as const;

/** How the time of checks was spent, over time. Phases that never happened are left out: a TCP monitor has no TLS. */
export function phasesChart({ from, bucket_ms: bucketMs, series, range, region, every }: PhasesView): Html {
  const results = series.reduce((sum, bucket) => sum + bucket.results, 0);
  if (results === 0)
    return html`<p class="soft">No result of this time has phases any more, or none was good.</p>`;
  const layers = PHASE_NAMES.map((phase, index) => ({
    name: PHASE_WORDS[phase],
    fill: FILLS[index] ?? 1,
    whole: latencyText(meanOf(series, phase)),
    values: series.map(({ phases }) => phases?.[phase] ?? null),
  })).filter(({ values }) => values.some((value) => value !== null && value > 0));
  const sample = every === 1 ? counted(results, 'result') : `a sample of ${counted(results, 'result')}`;
  return renderStackChart({
    title: 'Phases',
    summary: `Means over the whole time: ${layers.map(({ name, whole }) => `${name} ${whole}`).join(', ')}.`,
    note: `${RANGE_WORDS[range]}, ${region ?? 'all regions'}, times in UTC. Means of ${sample} that passed or were degraded.`,
    columns: { from, bucketMs, count: series.length },
    valueText: latencyText,
    layers,
  });
}

/** The mean over all results of the series, ms. */
function meanOf(series: PhasesView['series'], phase: keyof Phases): number {
  let [sum, results] = [0, 0];
  for (const bucket of series) {
    sum += (bucket.phases?.[phase] ?? 0) * bucket.results;
    results += bucket.results;
  }
  return results === 0 ? 0 : sum / results;
}
