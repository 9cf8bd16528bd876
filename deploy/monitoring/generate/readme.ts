import { type AlertRule, alertRules, anchorOf } from './alert-rules.ts';

/** The page of this folder, with a section for each alert rule. */
export function monitoringReadme(): string {
  return `${[...HEAD, ...alertRules().flatMap(section)].join('\n')}\n`;
}

const HEAD = [
  '<!-- Generated from deploy/monitoring/generate/ and prometheus/svc.rules.yaml by `npm run docs`. -->',
  '# Monitoring svc itself',
  '',
  'svc alerts about monitors. These files alert about svc: they are for Prometheus, Alertmanager and Grafana, or for programs',
  'that read the same formats.',
  '',
  '| file | for |',
  '| --- | --- |',
  '| `prometheus/prometheus.yaml` | an example of a configuration that scrapes a coordinator and agents |',
  '| `prometheus/svc.rules.yaml` | the alert rules that are described below |',
  '| `grafana/dashboards/svc-service.json` | a dashboard of the service: coordinator, agents by region, recording, NATS, deliveries |',
  '| `grafana/dashboards/svc-monitors.json` | a dashboard of monitors, from the metrics that svc exports by OTLP |',
  '| `grafana/provisioning/dashboards/svc.yaml` | tells Grafana to load the dashboards from a folder |',
  '',
  '## Prometheus',
  '',
  'Copy both files beside each other, and name your own hosts. A coordinator serves `/metrics` on `SVC_LISTEN`, an agent on',
  '`SVC_AGENT_LISTEN`, which is not set by default. If `SVC_METRICS_TOKEN` is set, both require it. Agents export their region',
  'themselves (`svc_agent_info`): do not give their targets a label `region`. The coordinator still sees an agent that Prometheus',
  'cannot reach (`svc_agents` and the metrics like it); such an agent can also send its metrics by OTLP ([docs/metrics.md](../../docs/metrics.md)).',
  '',
  'The rules hold for one installation of svc in a Prometheus. With several, select one with an external label or a further',
  'condition on `job`.',
  '',
  '## Grafana',
  '',
  'Copy `grafana/dashboards/` to a folder of the Grafana server, and `grafana/provisioning/dashboards/svc.yaml` to its',
  '`provisioning/dashboards/`; write the folder in there. Or import a file by hand. Both dashboards ask for the data source.',
  'The files are for Grafana 10.2 and newer.',
  '',
  'The dashboard of monitors needs the exported metrics under the names of Prometheus. VictoriaMetrics has them with',
  '`-opentelemetry.usePrometheusNaming`. Prometheus with `--web.enable-otlp-receiver` has them where',
  '`OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=explicit_bucket_histogram` is set. The builds of the Prometheus',
  "project have that receiver; Debian's packages are built without it.",
  '',
  '## Alerts',
  '',
  '`critical`: svc does not do its work, or somebody was not alerted. `warning`: soon svc will not do its work, or a part of it fails.',
  '[docs/metrics.md](../../docs/metrics.md) and the [reference](../../docs/reference/metrics.md) explain the metrics.',
];

function section({ alert, for: lasting, labels, annotations }: AlertRule): string[] {
  const after = lasting === undefined ? 'at once' : `after ${lasting}`;
  return [
    '',
    `### ${alert}`,
    '',
    `*${labels.severity}, ${after}; \`#${anchorOf(alert)}\`.* ${withoutTemplates(annotations.summary)}`,
    annotations.description,
  ];
}

/** The summary as a sentence about any instance. */
function withoutTemplates(summary: string): string {
  return summary
    .replace(/\{\{ \$value[^}]*\}\}/g, '…')
    .replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => `(${label})`);
}
