import { expect, test } from 'vitest';
import { belowBase, metricsUrlOf, otlpEndpoint } from './endpoint.ts';

test.each([
  ['https://collector.example.com', 'https://collector.example.com/v1/metrics'],
  ['http://127.0.0.1:4318/', 'http://127.0.0.1:4318/v1/metrics'],
  ['https://otlp.example.com/otlp/', 'https://otlp.example.com/otlp/v1/metrics'],
  ['https://example.com/otlp/?tenant=a', 'https://example.com/otlp/v1/metrics?tenant=a'],
  ['http://[::1]:8428/opentelemetry/v1/metrics', 'http://[::1]:8428/opentelemetry/v1/metrics'],
  ['https://example.com/ingest?api-key=1', 'https://example.com/ingest?api-key=1'],
  ['http://example.com:4317/v1/metrics', 'http://example.com:4317/v1/metrics'],
])('metrics of %s go to %s', (endpoint, url) => {
  expect(otlpEndpoint(endpoint)).toBeNull();
  expect(metricsUrlOf(endpoint)).toBe(url);
});

test.each(['http://collector:4317', 'https://collector:4317/', 'grpc://collector:4317', 'GRPCS://collector'])(
  '%s is refused, and the message says what to use',
  (endpoint) => {
    expect(otlpEndpoint(endpoint)).toMatch(/gRPC.* OTLP over HTTP only\. Use .*4318/);
  },
);

test.each(['ftp://example.com', 'collector:4318', 'https://user:password@example.com', 'http://'])(
  '%s is no endpoint',
  (endpoint) => {
    expect(otlpEndpoint(endpoint)).not.toBeNull();
  },
);

test.each([
  ['http://localhost:4318', 'http://localhost:4318/v1/metrics'],
  ['https://example.com/otlp', 'https://example.com/otlp/v1/metrics'],
  ['https://example.com/otlp/', 'https://example.com/otlp/v1/metrics'],
])('below the base %s metrics go to %s', (base, url) => {
  expect(belowBase(base)).toBe(url);
});
