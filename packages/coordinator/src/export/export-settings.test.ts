import { OTLP_SETTINGS } from '@svc/shared/otlp/otlp-settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { readEnvironment, SettingsError } from '@svc/shared/settings/environment.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { liveMonitor } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { NO_EXPORT_SETTINGS } from '../../../../test/support/export-settings.ts';
import { certificateFiles } from '../../../../test/support/tls/certificate-files.ts';
import { TEST_AUTHORITY, TRUSTED } from '../../../../test/support/tls/certificates.ts';
import { exportSettingsOf, targetOf } from './export-settings.ts';

const files = certificateFiles();
afterAll(() => files.remove());

const settings = (environment: NodeJS.ProcessEnv) =>
  exportSettingsOf(readEnvironment(OTLP_SETTINGS, environment).values);

const ENDPOINT = 'http://collector:4318';

describe('a variable for metrics overrides the one for all signals', () => {
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
])('%j: there is no endpoint of the operator', (environment) => {
  expect(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...environment }).fallback).toBeNull();
});

test.each([{ OTEL_SDK_DISABLED: '1' }, { OTEL_METRICS_EXPORTER: 'console,OTLP' }])(
  '%j: the export goes on',
  (environment) => {
    expect(settings({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...environment }).fallback).not.toBeNull();
  },
);

test('resource attributes are those that are set, and the service has its own name', () => {
  const { resource } = settings({
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,team=b',
    OTEL_SERVICE_NAME: 'c',
  });
  expect(new Map(resource).get('service.name')).toBe('c');
  expect(resource).toContainEqual(['team', 'b']);
});

describe('TLS of the operator’s endpoint', () => {
  test('has the set authorities, and the set certificate', () => {
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
  ])('needs a certificate and its key (%#)', (environment) => {
    expect(() => settings(environment())).toThrow(/belong together/);
  });

  test.each([
    () => ({ OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere.pem' }),
    () => ({ OTEL_EXPORTER_OTLP_CERTIFICATE: files.key }),
    () => ({ OTEL_EXPORTER_OTLP_CLIENT_KEY: files.certificate }),
  ])('refuses a missing or wrong file (%#)', (environment) => {
    expect(() => settings(environment())).toThrow(SettingsError);
  });
});

const METRICS_URL = 'https://otlp.example.com/v1/metrics';
const WITH_FALLBACK = {
  ...NO_EXPORT_SETTINGS,
  fallback: { url: METRICS_URL, headers: [{ key: 'X-Key', value: 'a' }] },
};

/** The key of the pipeline of a monitor with these headers; null: the monitor declares no endpoint. */
function keyOf(headers: Record<string, string> | null, workspaceId = 1): string | undefined {
  const declaredExport = headers && { endpoint: new Secret(METRICS_URL), headers: new Secret(headers) };
  return targetOf(liveMonitor(1, { declaredExport, workspaceId }), WITH_FALLBACK)?.key;
}

test('monitors share a pipeline when workspace, endpoint and headers are equal, and only then', () => {
  const key = keyOf({ 'X-Key': 'a', 'X-Tenant': 'b' });
  expect(keyOf({ 'x-tenant': 'b', 'x-key': 'a' })).toBe(key);
  const others = [keyOf({ 'X-Key': 'a' }), keyOf({ 'X-Key': 'a' }, 2), keyOf({ 'X-Key': 'b' }), keyOf(null)];
  expect(new Set([key, ...others]).size).toBe(5);
  expect(keyOf(null, 2)).toBe(keyOf(null));
});
