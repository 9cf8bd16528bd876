import type { DistributionValues, Measurement, Point } from './values.ts';

/** Media type of {@link prometheusText}. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Writes Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats, read on
 * 2026-11-22).
 */
export function prometheusText(measurements: readonly Measurement[]): string {
  const lines = measurements.flatMap(({ instrument: { name, kind, description }, points }) => [
    `# HELP ${name} ${description.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
    `# TYPE ${name} ${kind}`,
    ...points.flatMap((point) => samples(name, point)),
  ]);
  return lines.map((line) => `${line}\n`).join('');
}

function samples(name: string, { labels, value }: Point): string[] {
  if (typeof value === 'number') return [sample(name, labels, value)];
  return [
    ...buckets(value).map(([bound, count]) => sample(`${name}_bucket`, { ...labels, le: bound }, count)),
    sample(`${name}_sum`, labels, value.sum),
    sample(`${name}_count`, labels, value.count),
  ];
}

/**
 * Cumulative buckets: each bound with the number of values that are not above it, and `+Inf` with the number
 * of all values.
 */
function buckets({ bounds, counts, count }: DistributionValues): [bound: string, count: number][] {
  let below = 0;
  const found = bounds.map((bound, index): [string, number] => {
    below += counts[index] as number;
    return [String(bound), below];
  });
  return [...found, ['+Inf', count]];
}

function sample(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`;
}

/** Writes a number. NaN and infinities are spelled as in Go. */
function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
