import { describe, expect, test } from 'vitest';
import { readEnvironment, SettingsError } from '../settings/environment.ts';
import { OTLP_SETTINGS } from './otlp-settings.ts';

const read = (environment: NodeJS.ProcessEnv) => readEnvironment(OTLP_SETTINGS, environment).values;

describe('OpenTelemetry’s variables', () => {
  test('have their defaults', () => {
    const { otlpEndpoint, otlpInterval, otlpResource, otlpHistograms } = read({});
    expect([otlpEndpoint, otlpInterval, otlpResource, otlpHistograms]).toEqual([
      undefined,
      60_000,
      [],
      'base2_exponential_bucket_histogram',
    ]);
  });

  test('have pairs with percent-encoded values; names of resource attributes are percent-encoded too', () => {
    const { otlpHeaders, otlpResource } = read({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc%3D, x-tenant=a=b,',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,team%2Cunit%3D1=a%2Cb=c',
    });
    expect(otlpHeaders?.reveal()).toEqual([
      { key: 'authorization', value: 'Bearer abc=' },
      { key: 'x-tenant', value: 'a=b' },
    ]);
    expect(otlpResource).toEqual([
      { key: 'deployment.environment.name', value: 'prod' },
      { key: 'team,unit=1', value: 'a,b=c' },
    ]);
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4317' }, /gRPC.*4318/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /http\/json or http\/protobuf/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'Bearer secret-token' }, /name=value pairs/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret token=1' }, /that no header can have/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'host=example.com' }, /sets itself/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=50%secret' }, /write %25/],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'share%=1' }, /write %25/],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'share=1%' }, /write %25/],
    [{ OTEL_METRIC_EXPORT_INTERVAL: '10' }, /1000/],
  ])('%j stop the start', (environment, message) => {
    const start = () => read(environment);
    expect(start).toThrow(SettingsError);
    expect(start).toThrow(message);
    expect(start).not.toThrow(/secret/);
  });
});
