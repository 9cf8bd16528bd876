import { OTLP_SETTINGS } from '@svc/shared/otlp/otlp-settings.ts';
import { readEnvironment, SettingsError } from '@svc/shared/settings/environment.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { certificateFiles } from '../../../../test/support/tls/certificate-files.ts';
import { TEST_AUTHORITY, TRUSTED } from '../../../../test/support/tls/certificates.ts';
import { exportSettingsOf } from './export-settings.ts';

const files = certificateFiles();
afterAll(() => files.remove());

const settings = (environment: NodeJS.ProcessEnv) =>
  exportSettingsOf(readEnvironment(OTLP_SETTINGS, environment).values);

const ENDPOINT = 'http://collector:4318';

describe('what is set for metrics goes before what is set for all signals', () => {
  test.each([
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://b/m' },
      { fallback: { url: 'http://b/m', headers: [] } },
    ],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT,
        OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
        OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'b=2',
      },
      { fallback: { url: `${ENDPOINT}/v1/metrics`, headers: [{ key: 'b', value: '2' }] } },
    ],
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'HTTP/Protobuf' },
      { encoding: 'protobuf' },
    ],
    [
      { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip', OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: 'none' },
      { isCompressed: false },
    ],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '3000', OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '700' }, { timeoutMs: 700 }],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '3000' }, { timeoutMs: 3_000 }],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, { encoding: 'json' }],
    [{}, { timeoutMs: 10_000, isCompressed: true, encoding: 'json', fallback: null }],
    [{ OTEL_METRIC_EXPORT_INTERVAL: '5000' }, { intervalMs: 5_000 }],
    [
      { OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION: 'EXPLICIT_bucket_histogram' },
      { histograms: 'explicit' },
    ],
  ])('%j', (environment, expected) => {
    expect(settings(environment)).toMatchObject(expected);
  });
});

test.each([
  { OTEL_SDK_DISABLED: 'TRUE' },
  { OTEL_METRICS_EXPORTER: 'none' },
  { OTEL_METRICS_EXPORTER: 'prometheus, console' },
])('%j: nothing goes to the endpoint of the settings', (environment) => {
  expect(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...environment }).fallback).toBeNull();
});

test.each([{ OTEL_SDK_DISABLED: '1' }, { OTEL_METRICS_EXPORTER: 'console,OTLP' }])(
  '%j: the export goes on',
  (environment) => {
    expect(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...environment }).fallback).not.toBeNull();
  },
);

test('resource attributes have the names that are set, the service its own', () => {
  const { resource } = settings({
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,team=b',
    OTEL_SERVICE_NAME: 'c',
  });
  expect(new Map(resource).get('service.name')).toBe('c');
  expect(resource).toContainEqual(['team', 'b']);
});

describe('TLS of the endpoint of the settings', () => {
  test('has its authorities, and shows its certificate', () => {
    const { tls } = settings({
      OTEL_EXPORTER_OTLP_CERTIFICATE: files.authority,
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: files.certificate,
      OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY: files.key,
    });
    expect(tls.ca).toEqual([TEST_AUTHORITY.trim()]);
    expect(tls.identity?.cert.trim()).toBe(TRUSTED.cert.trim());
    expect(tls.identity?.key.reveal()).toBe(TRUSTED.key);
    expect(JSON.stringify(tls)).not.toContain('PRIVATE KEY');
  });

  test.each([
    () => ({ OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: files.certificate }),
    () => ({ OTEL_EXPORTER_OTLP_CLIENT_KEY: files.key }),
    () => ({
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: files.certificate,
      OTEL_EXPORTER_OTLP_CLIENT_KEY: files.otherKey,
    }),
  ])('needs both halves of a pair (%#)', (environment) => {
    expect(() => settings(environment())).toThrow(/belong together/);
  });

  test.each([
    () => ({ OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere.pem' }),
    () => ({ OTEL_EXPORTER_OTLP_CERTIFICATE: files.key }),
    () => ({ OTEL_EXPORTER_OTLP_CLIENT_KEY: files.certificate }),
  ])('does not start with a file that is none (%#)', (environment) => {
    expect(() => settings(environment())).toThrow(SettingsError);
  });
});
