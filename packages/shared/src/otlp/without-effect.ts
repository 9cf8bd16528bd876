/**
 * Variables of OpenTelemetry's specification (1.51, "Environment Variable Specification" and "OTLP Exporter
 * Configuration", read on 2026-11-22) that are about metrics and have no effect here, with the reason. Those about
 * traces and logs alone are passed over: svc has neither, and environments of many programs set them for all.
 */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  OTEL_METRIC_EXPORT_TIMEOUT:
    'a request that is not taken is kept and sent again; OTEL_EXPORTER_OTLP_TIMEOUT limits each',
  OTEL_METRICS_EXEMPLAR_FILTER: 'there are no traces that an exemplar could name',
  OTEL_EXPORTER_OTLP_INSECURE: 'it applies to gRPC; over HTTP the scheme of the endpoint decides',
  OTEL_EXPORTER_OTLP_METRICS_INSECURE: 'it applies to gRPC; over HTTP the scheme of the endpoint decides',
  OTEL_EXPORTER_PROMETHEUS_HOST: 'SVC_LISTEN and SVC_AGENT_LISTEN set the address of /metrics',
  OTEL_EXPORTER_PROMETHEUS_PORT: 'SVC_LISTEN and SVC_AGENT_LISTEN set the address of /metrics',
  OTEL_CONFIG_FILE: 'the settings are environment variables only',
  OTEL_EXPERIMENTAL_CONFIG_FILE: 'the settings are environment variables only',
};

const TEMPORALITY = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE';
const DISABLED = 'OTEL_SDK_DISABLED';
const EXPORTERS = 'OTEL_METRICS_EXPORTER';
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'] as const;

/** Warnings for the log of a process at its start: what OpenTelemetry's variables ask for and do not get. */
export function otlpWarnings(environment: NodeJS.ProcessEnv): string[] {
  const textOf = (name: string) => environment[name]?.trim().toLowerCase() ?? '';
  const warnings = Object.entries(WITHOUT_EFFECT)
    .filter(([name]) => textOf(name) !== '')
    .map(([name, why]) => `${name} has no effect: ${why}`);
  const temporality = textOf(TEMPORALITY);
  if (temporality !== '' && temporality !== 'cumulative')
    warnings.push(`${TEMPORALITY} has no effect: sums and histograms are cumulative, so that none is lost`);
  const disabled = textOf(DISABLED);
  if (!['', 'true', 'false'].includes(disabled))
    warnings.push(`${DISABLED} is neither true nor false, and counts as false`);
  const exporters = textOf(EXPORTERS)
    .split(',')
    .map((name) => name.trim());
  const others = exporters.filter((name) => !['', 'otlp', 'none'].includes(name));
  if (others.length > 0) warnings.push(`${EXPORTERS}: svc has only the exporter otlp, and /metrics`);
  const isOff = disabled === 'true' || !(exporters.includes('otlp') || exporters.join('') === '');
  const endpoint = ENDPOINTS.find((name) => textOf(name) !== '');
  if (isOff && endpoint !== undefined) {
    const by = disabled === 'true' ? `${DISABLED} is true` : `${EXPORTERS} does not name otlp`;
    warnings.push(`nothing goes to the endpoint of ${endpoint}: ${by}`);
  }
  return warnings;
}
