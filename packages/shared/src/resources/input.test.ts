import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HTTP_MONITOR_DEFAULTS, VALID } from '../../../../test/support/resources.ts';
import { parseResource, presented, RESOURCE_KINDS, type ResourceKind } from './registry.ts';
import { masked } from './secrets.ts';
import { sortedIds } from './values.ts';

function parsed(kind: ResourceKind, input: unknown, surface: 'api' | 'file' = 'api') {
  const result = parseResource(kind, input, surface);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.value;
}

describe.each(RESOURCE_KINDS)('input of %s', (kind) => {
  test('an answer of the API can be sent back', () => {
    const first = parsed(kind, VALID[kind]);
    const answer = {
      ...presented(kind, first),
      id: '1',
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
    };
    expect(parsed(kind, answer)).toEqual(first);
  });

  test('null equals omitted', () => {
    const first = parsed(kind, VALID[kind]) as Record<string, unknown>;
    const isTaken = (name: string) => name in VALID[kind] || name === 'settings' || name in { type: 1 };
    const nulls = Object.fromEntries(
      Object.keys(first)
        .filter((name) => !isTaken(name))
        .map((name) => [name, null]),
    );
    expect(parsed(kind, { ...nulls, ...VALID[kind] })).toEqual(first);
  });

  test('in the declared file read-only members are unknown', () => {
    expect(parseResource(kind, { ...VALID[kind], id: '1' }, 'file')).toMatchObject({
      ok: false,
      issues: [{ path: ['id'] }],
    });
  });
});

test('every member of a monitor is there after normalization', () => {
  expect(parsed('svc_http_monitor', VALID.svc_http_monitor)).toEqual({
    type: 'http',
    name: 'a',
    url: 'https://example.com',
    periodicity: '1m',
    ...HTTP_MONITOR_DEFAULTS,
  });
});

test('a time-out of 0 stays as it was written', () => {
  expect(parsed('svc_tcp_monitor', { ...VALID.svc_tcp_monitor, timeout: 0 })).toMatchObject({ timeout: 0 });
});

test('regions are put into the fixed order, without repeats', () => {
  const regions = ['hostc-us-east4', 'hosta-fra', 'hostb-par', 'hosta-fra'];
  expect(parsed('svc_tcp_monitor', { ...VALID.svc_tcp_monitor, regions })).toMatchObject({
    regions: ['hosta-fra', 'hostb-par', 'hostc-us-east4'],
  });
  expect(parsed('svc_tcp_monitor', { ...VALID.svc_tcp_monitor, regions: [] })).toMatchObject({
    regions: null,
  });
});

test("another kind's type is refused by name", () => {
  expect(parseResource('svc_http_monitor', { ...VALID.svc_http_monitor, type: 'tcp' }, 'api')).toMatchObject({
    ok: false,
    issues: [
      {
        path: ['type'],
        message: `is "tcp", but this resource's type is "http" and cannot be changed`,
      },
    ],
  });
});

test('the settings of a channel stand apart from the kinds it is not', () => {
  const channel = parsed('svc_notification', {
    provider_type: 'push_a',
    push_a: { topic: 'a' },
    monitor_ids: ['12', '3', '12'],
  });
  expect(channel).toEqual({
    name: null,
    provider_type: 'push_a',
    monitor_ids: ['3', '12'],
    group_alerts: true,
    notify_unknown: true,
    remind_every: null,
    settings: { topic: 'a', server_url: null, token: null },
  });
});

test('references are ids in the declared file only', () => {
  const input = { ...VALID.svc_notification, monitor_ids: [`\${svc_tcp_monitor.a.id}`, '3'] };
  expect(parsed('svc_notification', input, 'file')).toMatchObject({
    monitor_ids: ['3', `\${svc_tcp_monitor.a.id}`],
  });
  expect(parseResource('svc_notification', input, 'api').ok).toBe(false);
});

test('all unknown members are reported, each with its own suggestion', () => {
  const result = parseResource('svc_tcp_monitor', { ...VALID.svc_tcp_monitor, retyr: 1, actve: true }, 'api');
  expect(result.ok ? [] : result.issues).toEqual([
    { path: ['retyr'], message: 'is unknown: did you mean "retry"?', isUnknown: true },
    { path: ['actve'], message: 'is unknown: did you mean "active"?', isUnknown: true },
  ]);
});

test('any input gives a value or issues', () => {
  fc.assert(
    fc.property(fc.constantFrom(...RESOURCE_KINDS), fc.anything(), (kind, input) => {
      const result = parseResource(kind, input, 'api');
      return result.ok || result.issues.length > 0;
    }),
  );
});

test('the order in which ids are written does not matter', () => {
  const id = fc.oneof(fc.nat().map(String), fc.constantFrom(`\${a.b.id}`, `\${a.c.id}`));
  fc.assert(
    fc.property(fc.array(id), (ids) => {
      expect(sortedIds([...ids].reverse())).toEqual(sortedIds(ids));
    }),
  );
});

test('secrets are masked wherever they stand', () => {
  const monitor = {
    name: 'a',
    url: 'https://user:secret@example.com/?key=secret',
    body: 'secret',
    otlp_headers: { Authorization: 'secret' },
    headers: [{ key: 'X-A', value: 'secret' }],
  };
  expect(masked('svc_http_monitor', monitor)).toEqual({
    name: 'a',
    url: 'https://********@example.com/?********',
    body: '********',
    otlp_headers: { Authorization: '********' },
    headers: [{ key: 'X-A', value: '********' }],
  });
  expect(
    masked('svc_notification', { webhook: { endpoint: 'http://a', headers: [{ key: 'a', value: 'b' }] } }),
  ).toEqual({ webhook: { endpoint: '********', headers: [{ key: 'a', value: '********' }] } });
  expect(masked('svc_notification', { push_a: { topic: 'a', token: null } })).toEqual({
    push_a: { topic: 'a', token: null },
  });
  expect(masked('svc_status_page', { password: 'secret' })).toEqual({ password: '********' });
});
