import type { Instrument, OpenLabels } from '../metrics/instrument.ts';
import { INSTRUMENT_GROUPS, type InstrumentGroup } from '../metrics/registry.ts';
import { lines, table } from './markdown.ts';

/** Writes the page of metrics from the declarations of the instruments. */
export function metricsPage(): string {
  return lines([
    '<!-- Generated from packages/shared/src/metrics by `npm run docs`. -->',
    '# Metrics',
    '',
    'The coordinator answers `GET /metrics` on `SVC_LISTEN`, and an agent on `SVC_AGENT_LISTEN`, in the text format of Prometheus (0.0.4).',
    'Where `SVC_METRICS_TOKEN` is set, both require it as a bearer token:',
    '',
    '```yaml',
    'scrape_configs:',
    '  - job_name: svc',
    '    authorization: { credentials_file: /etc/prometheus/svc-metrics-token }',
    '    static_configs: [{ targets: ["coordinator.example.com:8080", "agent-1.example.com:9100"] }]',
    '```',
    '',
    'Where the values of a label are listed, each has its series from the start, with the value 0. Other labels say what bounds the number',
    'of their series, and a series appears with its first value. A counter starts at 0 again with its process. The counters of the leader start at 0 again each time that a coordinator begins',
    'to lead. `rate()` and `increase()` allow for both. Where a metric has an alarm, its line says when an operator should look at it, and what',
    'to do then. This page does not cover the metrics of the monitored targets: the API has them under `/v1/monitors`.',
    ...INSTRUMENT_GROUPS.flatMap(section),
  ]);
}

function section({ title, description, instruments }: InstrumentGroup): string[] {
  return ['', `## ${title}`, '', description, ...instruments.flatMap(entry)];
}

function entry({ name, kind, unit, label, openLabels, description, advice, bounds }: Instrument): string[] {
  const type = `${kind[0]?.toUpperCase()}${kind.slice(1)}${unit === null ? '' : `, ${unit}`}.`;
  const buckets =
    bounds.length === 0
      ? ''
      : ` Its buckets end at ${bounds.join(', ')} ${unit}; one more holds all larger values.`;
  return [
    '',
    `### \`${name}\``,
    '',
    `*${type}* ${description}${buckets}`,
    ...(label === null ? [] : ['', ...labelTable(label.name, label.values)]),
    ...(openLabels === null ? [] : ['', ...openLabelsTable(openLabels)]),
    ...(advice === null ? [] : ['', `**Alarm.** ${advice}`]),
  ];
}

function labelTable(name: string, values: Readonly<Record<string, string>>): string[] {
  const rows = Object.entries(values).map(([value, meaning]) => [`\`${value}\``, meaning]);
  return table([`\`${name}\``, 'Meaning'], rows);
}

function openLabelsTable(labels: OpenLabels): string[] {
  return table(
    ['Label', 'Values'],
    Object.entries(labels).map(([name, meaning]) => [`\`${name}\``, meaning]),
  );
}
