import { describe, expect, test } from 'vitest';
import { VALID } from '../../../../test/support/resources.ts';
import { check } from '../messages/check.ts';
import { MONITOR_KINDS, probeFingerprint, toCheck } from './monitors.ts';
import { type Monitor, parseResource, type ResourceKind } from './registry.ts';

function monitor(kind: ResourceKind, members: Record<string, unknown> = {}): Monitor {
  const parsed = parseResource(kind, { ...VALID[kind], ...members }, 'api');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.value as Monitor;
}

describe.each(MONITOR_KINDS)('the check of a %s', (kind) => {
  test('is what the message contract wants', () => {
    const made = toCheck(monitor(kind));
    expect(check.parse(made)).toEqual(made);
  });

  test('takes the default for a time-out of 0', () => {
    expect(toCheck(monitor(kind, { timeout: 0 })).timeout).toBe(45_000);
  });

  test.each([
    { name: 'b' },
    { description: 'b' },
    { active: true },
    { public: true },
    { otlp_endpoint: 'http://a' },
    { otlp_headers: { a: 'b' } },
  ])('has the same fingerprint with %j', (members) => {
    expect(probeFingerprint(monitor(kind, members))).toBe(probeFingerprint(monitor(kind)));
  });

  test.each([{ timeout: 1 }, { retry: 0 }, { degraded_at: 1 }])(
    'has another fingerprint with %j',
    (members) => {
      expect(probeFingerprint(monitor(kind, members))).not.toBe(probeFingerprint(monitor(kind)));
    },
  );
});

test.each([
  ['svc_http_monitor', { url: 'https://example.org' }],
  ['svc_http_monitor', { method: 'HEAD' }],
  ['svc_http_monitor', { body: 'a' }],
  ['svc_http_monitor', { follow_redirects: false }],
  ['svc_http_monitor', { certificate_expiry_days: 1 }],
  ['svc_http_monitor', { headers: [{ key: 'a', value: 'b' }] }],
  ['svc_http_monitor', { status_code_assertions: [{ target: 200, comparator: 'eq' }] }],
  ['svc_http_monitor', { body_assertions: [{ target: 'a', comparator: 'eq' }] }],
  ['svc_http_monitor', { header_assertions: [{ key: 'a', target: 'a', comparator: 'eq' }] }],
  ['svc_tcp_monitor', { uri: 'example.com:80' }],
  ['svc_dns_monitor', { uri: 'example.org' }],
  ['svc_dns_monitor', { record_assertions: [{ record: 'A', target: 'a', comparator: 'eq' }] }],
] as const)('another fingerprint of %s with %j', (kind, members) => {
  expect(probeFingerprint(monitor(kind, members))).not.toBe(probeFingerprint(monitor(kind)));
});

test('a monitor without a bound on the expiry of certificates has no member for it', () => {
  const made = toCheck(monitor('svc_http_monitor', { certificate_expiry_days: 0 }));
  expect(made).not.toHaveProperty('certificate_expiry_days');
  expect(toCheck(monitor('svc_http_monitor', { certificate_expiry_days: 398 }))).toMatchObject({
    certificate_expiry_days: 398,
  });
});

test('international names travel in their ASCII form', () => {
  expect(toCheck(monitor('svc_tcp_monitor', { uri: 'bücher.example:80' }))).toMatchObject({
    uri: 'xn--bcher-kva.example:80',
  });
  expect(toCheck(monitor('svc_dns_monitor', { uri: 'bücher.example' }))).toMatchObject({
    uri: 'xn--bcher-kva.example',
  });
  expect(toCheck(monitor('svc_tcp_monitor', { uri: '[::1]:80' }))).toMatchObject({ uri: '[::1]:80' });
});
