import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../settings/environment.ts';
import { AGENT_OTLP_SETTINGS, ownExportOf } from './own-metrics-settings.ts';

const exportOf = (environment: NodeJS.ProcessEnv) =>
  ownExportOf(readEnvironment(AGENT_OTLP_SETTINGS, environment).values);

const BASE = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.test/otlp' };

describe('own metrics are not exported', () => {
  test.each([
    ['without an endpoint', {}],
    ['where the SDK is disabled', { ...BASE, OTEL_SDK_DISABLED: 'TRUE' }],
    ['where no exporter of metrics is wanted', { ...BASE, OTEL_METRICS_EXPORTER: 'none' }],
    ['where other exporters are wanted', { ...BASE, OTEL_METRICS_EXPORTER: 'prometheus,console' }],
  ])('%s', (_, environment) => {
    expect(exportOf(environment)).toBeNull();
  });
});

describe('own metrics', () => {
  test('go below a base, as protobuf, compressed, every minute, for 10 s at most', () => {
    const found = exportOf(BASE);
    expect(found?.url.reveal()).toBe('https://collector.test/otlp/v1/metrics');
    expect(found).toMatchObject({
      encoding: 'protobuf',
      isCompressed: true,
      intervalMs: 60_000,
      timeoutMs: 10_000,
      resource: [],
    });
  });

  test('follow what is set for metrics before what is set for all signals', () => {
    const found = exportOf({
      ...BASE,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://metrics.test/ingest?key=1',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=all',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'authorization=Bearer%20metrics',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: 'none',
      OTEL_EXPORTER_OTLP_TIMEOUT: '9000',
      OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '800',
    });
    expect(found?.url.reveal()).toBe('https://metrics.test/ingest?key=1');
    expect(found?.headers.reveal()).toEqual({ authorization: 'Bearer metrics' });
    expect(found).toMatchObject({ encoding: 'json', isCompressed: false, timeoutMs: 800 });
  });

  test('are given up when the next export is due', () => {
    const found = exportOf({ ...BASE, OTEL_METRIC_EXPORT_INTERVAL: '2000' });
    expect(found).toMatchObject({ intervalMs: 2_000, timeoutMs: 2_000 });
  });

  test('have the attributes of the operator, and the name of the service last', () => {
    const found = exportOf({
      ...BASE,
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=prod',
      OTEL_SERVICE_NAME: 'uptime',
    });
    expect(found?.resource).toEqual([
      ['service.name', 'other'],
      ['deployment.environment.name', 'prod'],
      ['service.name', 'uptime'],
    ]);
  });

  test.each([
    { OTEL_SDK_DISABLED: '1' },
    { OTEL_METRICS_EXPORTER: 'prometheus,OTLP' },
    { OTEL_EXPORTER_OTLP_TIMEOUT: '50' },
  ])('go out with %j, as those of monitors do', (environment) => {
    expect(exportOf({ ...BASE, ...environment })).not.toBeNull();
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /http\/json or http\/protobuf/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://collector:4317' }, /4318/],
  ])('%j stop the start', (environment, message) => {
    expect(() => exportOf(environment)).toThrow(message);
  });
});
