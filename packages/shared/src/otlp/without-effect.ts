import { OTLP_SETTINGS } from './otlp-settings.ts';

/**
 * Variables of OpenTelemetry's specification (1.51, "Environment Variable Specification" and "OTLP Exporter
 * Configuration", read on 2026-11-22) that are about metrics and have no effect here, with the reason.
 * Variables about traces and logs alone are left out: svc exports neither traces nor logs, and such variables
 * are often set for all programs of a machine.
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

/**
 * Maximum number of labels of a time series, and of bytes of a label's value, that VictoriaMetrics
 * accepts by default (Debian 13). It answers 200 to larger series and drops them. A test compares
 * these numbers with VictoriaMetrics.
 */
const MOST_LABELS = 40;
const MOST_VALUE_BYTES = 4_096;
/**
 * Number of labels that a histogram bucket of a failed check has
 * besides the attributes of the resource that the operator adds.
 */
const LABELS_OF_A_POINT = 12;
export const MOST_RESOURCE_ATTRIBUTES = MOST_LABELS - LABELS_OF_A_POINT;
const SERVICE = ['service.name', 'service.version', 'service.instance.id'];

/**
 * Warnings about series that receivers may drop silently because of these attributes of the resource. No
 * value is repeated. `findings/victoria-metrics-drops-wide-series.sh` shows this with VictoriaMetrics.
 */
export function resourceWarnings(attributes: readonly (readonly [name: string, value: string])[]): string[] {
  const further = new Set(attributes.map(([name]) => name).filter((name) => !SERVICE.includes(name)));
  const long = attributes.filter(([, value]) => Buffer.byteLength(value) > MOST_VALUE_BYTES);
  const most = MOST_RESOURCE_ATTRIBUTES;
  return [
    ...(further.size <= most
      ? []
      : [
          `OTEL_RESOURCE_ATTRIBUTES has ${further.size} attributes: with more than ${most}, receivers that make labels of them may take series and drop them, as VictoriaMetrics does beyond ${MOST_LABELS} labels`,
        ]),
    ...long.map(
      ([name]) =>
        `OTEL_RESOURCE_ATTRIBUTES has a value over ${MOST_VALUE_BYTES} bytes for ${JSON.stringify(name)}: receivers may take series and drop them, as VictoriaMetrics does`,
    ),
  ];
}

/**
 * Warnings for the log at the start of a process, about variables of OpenTelemetry that ask for something
 * without effect, and about attributes that receivers may not store.
 */
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
  // Unreadable attributes give no warning here: the process reports them as a bad setting and does not start.
  const { data = [] } = OTLP_SETTINGS.otlpResource.schema.safeParse(
    environment.OTEL_RESOURCE_ATTRIBUTES ?? '',
  );
  return [...warnings, ...resourceWarnings(data.map(({ key, value }) => [key, value]))];
}
