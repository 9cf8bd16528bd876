import type { SeriesView } from '../../api/routes/series.ts';
import { type Line, renderLineChart } from '../../web/charts/line-chart.ts';
import { latencyText } from '../../web/figures.ts';
import type { Html } from '../../web/html.ts';
import { RANGE_WORDS } from './ranges.ts';
import { counted } from './shown.ts';

/** Height of the smallest bar of the strip, as a share: a lone failure can be seen. */
const SEEN = 0.3;

const PERCENTILES = [
  { name: 'p50', style: 'solid' },
  { name: 'p95', style: 'dashed' },
  { name: 'p99', style: 'dotted' },
] as const;

/** Percentiles of the latency over time, with the share of failed results below them. */
export function latencyChart(view: SeriesView): Html {
  const { from, bucket_ms: bucketMs, series, latency } = view;
  const lines = PERCENTILES.map(
    ({ name, style }): Line => ({
      name,
      style,
      whole: latencyText(latency[name]),
      values: series.map((bucket) => bucket.latency[name]),
    }),
  );
  const buckets = series.map(({ results: { passed, degraded, failed } }) => ({
    failed,
    all: passed + degraded + failed,
  }));
  return renderLineChart({
    title: 'Latency',
    summary: summaryOf(view),
    note: `${RANGE_WORDS[view.range]}, ${view.region ?? 'all regions'}, times in UTC. Failed results have no latency.`,
    columns: { from, bucketMs, count: series.length },
    valueText: latencyText,
    lines,
    strip: {
      name: 'Failed',
      whole: view.results.failed.toLocaleString('en'),
      shares: buckets.map(({ failed, all }) => (failed === 0 ? 0 : Math.max(SEEN, failed / all))),
      texts: buckets.map(({ failed, all }) => (all === 0 ? '–' : `${failed} of ${all}`)),
    },
  });
}

function summaryOf({ series, results: { passed, degraded, failed } }: SeriesView): string {
  const spanOf = (name: 'p50' | 'p95') => {
    const values = series.map(({ latency }) => latency[name]).filter((value) => value !== null);
    return `from ${latencyText(Math.min(...values))} to ${latencyText(Math.max(...values))}`;
  };
  const all = passed + degraded + failed;
  if (all === 0) return 'There are no results.';
  const failures = `${failed.toLocaleString('en')} of ${counted(all, 'result')} failed.`;
  if (passed + degraded === 0) return failures;
  return `The median was ${spanOf('p50')}, the 95th percentile ${spanOf('p95')}. ${failures}`;
}
