import { describe, expect, test } from 'vitest';
import { MOST_RESOURCE_ATTRIBUTES, otlpWarnings } from './without-effect.ts';

const attributes = (count: number) =>
  Array.from({ length: count }, (_, index) => `attribute.n${index}=v`).join(',');

describe('a start warns of', () => {
  test.each([
    [
      { OTEL_METRIC_EXPORT_TIMEOUT: '30000' },
      /^OTEL_METRIC_EXPORT_TIMEOUT has no effect: .*OTEL_EXPORTER_OTLP_TIMEOUT/,
    ],
    [{ OTEL_METRICS_EXEMPLAR_FILTER: 'always_on' }, /no effect/],
    [{ OTEL_EXPORTER_OTLP_INSECURE: 'true' }, /gRPC/],
    [{ OTEL_EXPORTER_OTLP_METRICS_INSECURE: 'true' }, /gRPC/],
    [{ OTEL_EXPORTER_PROMETHEUS_PORT: '9464' }, /SVC_LISTEN/],
    [{ OTEL_CONFIG_FILE: 'otel.yaml' }, /no effect/],
    [{ OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'Delta' }, /cumulative/],
    [{ OTEL_SDK_DISABLED: '1' }, /counts as false/],
    [{ OTEL_METRICS_EXPORTER: 'otlp,prometheus' }, /\/metrics/],
    [
      { OTEL_SDK_DISABLED: 'True', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' },
      /nothing goes to .*OTEL_SDK_DISABLED/,
    ],
    [
      { OTEL_METRICS_EXPORTER: 'none', OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://secret' },
      /nothing goes to the endpoint of OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: OTEL_METRICS_EXPORTER/,
    ],
    [
      { OTEL_RESOURCE_ATTRIBUTES: attributes(MOST_RESOURCE_ATTRIBUTES + 1) },
      /^OTEL_RESOURCE_ATTRIBUTES has 29 attributes: with more than 28, .* drop them/,
    ],
    [
      { OTEL_RESOURCE_ATTRIBUTES: `team=${'secret'.repeat(683)}` },
      /^OTEL_RESOURCE_ATTRIBUTES has a value over 4096 bytes for "team"/,
    ],
  ])('%j', (environment, message) => {
    const warnings = otlpWarnings(environment);
    expect(warnings).toEqual([expect.stringMatching(message)]);
    expect(warnings.join()).not.toContain('secret');
  });
});

test.each([
  {},
  { OTEL_RESOURCE_ATTRIBUTES: `service.name=a,${attributes(MOST_RESOURCE_ATTRIBUTES)}` },
  { OTEL_RESOURCE_ATTRIBUTES: `team=${'x'.repeat(4_096)}` },
  { OTEL_RESOURCE_ATTRIBUTES: 'team=50%' },
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_METRICS_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'false' },
  { OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'Cumulative', OTEL_METRIC_EXPORT_TIMEOUT: '' },
  { OTEL_TRACES_SAMPLER: 'always_on', OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_LOGS_EXPORTER: 'none' },
  { OTEL_SDK_DISABLED: 'true', OTEL_METRICS_EXPORTER: 'none' },
])('%j is no reason for a warning', (environment) => {
  expect(otlpWarnings(environment)).toEqual([]);
});
