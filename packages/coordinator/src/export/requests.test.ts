import { describe, expect, test } from 'vitest';
import { liveMonitor } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { attributesOf, decodeOtlp, metricsOf } from '../../../../test/support/otlp-receiver.ts';
import type { CountedResult } from '../store/export-totals.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import type { StatusSince } from '../verdict/uptime.ts';
import type { HistogramKind } from './histograms.ts';
import { joined, MetricsRequest } from './requests.ts';
import {
  countResult,
  identityOf,
  MOST_DURATION_SERIES,
  mostPoints,
  newTotals,
  type Totals,
} from './totals.ts';

const STARTED_AT = 1_795_000_000_123;
const AT = 1_795_000_060_456;
const HOUR_MS = 3_600_000;
const TYPES = { json: 'application/json', protobuf: 'application/x-protobuf' } as const;
const MONITOR = liveMonitor(5, {
  name: 'Käse "to go"\\ 💶',
  target: 'https://example.com/?key=secret',
  type: 'http',
});

function totalsOf(results: readonly Partial<CountedResult>[], kind: HistogramKind = 'exponential'): Totals {
  const totals = newTotals(identityOf(MONITOR, kind), STARTED_AT);
  for (const more of results) {
    const result: CountedResult = {
      monitor: 5,
      region: 'hosta-fra',
      outcome: 'passed',
      latency: 20,
      ...more,
    };
    countResult(totals, result, kind, AT);
  }
  return totals;
}

function requestOf(
  totals: Totals,
  more: {
    at?: number;
    monitor?: Partial<LiveMonitor>;
    history?: readonly StatusSince[];
    kind?: HistogramKind;
  } = {},
): MetricsRequest {
  const { at = AT, monitor = {}, history = [], kind = 'exponential' } = more;
  const frame = { resource: [['team', 'a,b']] as const, histograms: kind, at };
  const request = new MetricsRequest(frame);
  request.add({ monitor: { ...MONITOR, regions: ['hosta-fra'], ...monitor }, totals, history });
  return request;
}

/** Points as `name{attributes}: value`, without the attributes that all points share. */
function valuesIn(request: MetricsRequest): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { name, ...metric } of metricsOf(decodeOtlp(request.encoded('json'), TYPES.json))) {
    const { dataPoints } = metric.sum ?? metric.gauge ?? metric.exponentialHistogram ?? { dataPoints: [] };
    for (const point of dataPoints) {
      const own = Object.entries(attributesOf(point)).filter(
        ([key]) => !/^svc\.(monitor\.(id|name|kind|target)|region)$/.test(key),
      );
      const key = `${name}{${own.map(([, value]) => value).join()}}`;
      found[key] = Number(point.asInt ?? point.asDouble ?? point.count);
    }
  }
  return found;
}

const PROBED = [
  { status_code: 200, phases: { dns: 1, connect: 2 } },
  { status_code: 200, outcome: 'degraded', certificate_expires_at: AT + HOUR_MS },
  { status_code: 503, outcome: 'failed', error_type: 'assertion' },
  { outcome: 'failed', error_type: 'timeout', latency: 30_000 },
  { status_code: 200, certificate_expires_at: AT + HOUR_MS },
] as const satisfies Partial<CountedResult>[];

test('results are counted by outcome, status code and error type', () => {
  const request = requestOf(totalsOf(PROBED), { history: [{ at: AT - HOUR_MS, status: 'active' }] });
  expect(valuesIn(request)).toEqual({
    'svc.checks{passed}': 2,
    'svc.checks{degraded}': 1,
    'svc.checks{failed}': 2,
    'svc.check.duration{passed,200}': 2,
    'svc.check.duration{degraded,200}': 1,
    'svc.check.duration{failed,503,assertion}': 1,
    'svc.check.duration{failed,timeout}': 1,
    'svc.check.phase.duration{dns}': 1,
    'svc.check.phase.duration{connect}': 1,
    'svc.monitor.certificate.remaining{}': 3_600,
    'svc.monitor.status{active}': 1,
    'svc.monitor.status{degraded}': 0,
    'svc.monitor.status{error}': 0,
    'svc.monitor.status{unknown}': 0,
    'svc.monitor.uptime{}': 1,
  });
  expect(request.points).toBe(15);
  expect(mostPoints(totalsOf(PROBED))).toBeGreaterThanOrEqual(request.points);
});

test.each(['json', 'protobuf'] as const)('encoded requests are joined to one in %s', (encoding) => {
  const requests = [requestOf(totalsOf(PROBED)), requestOf(totalsOf([])), requestOf(totalsOf(PROBED))];
  const bodies = requests.map((request) => request.encoded(encoding));
  const resourcesIn = (body: Uint8Array) => decodeOtlp(body, TYPES[encoding]).resourceMetrics ?? [];
  for (const count of [1, 2, 3]) {
    const some = bodies.slice(0, count);
    expect(resourcesIn(joined(some, encoding))).toEqual(some.flatMap(resourcesIn));
  }
});

describe.each(['exponential', 'explicit'] as const)('a request with %s histograms', (kind) => {
  const request = requestOf(totalsOf(PROBED, kind), { kind });

  test('is the same in JSON and in protobuf, as OpenTelemetry’s definitions read it', () => {
    // Leave out members that only one encoding writes, because they have their default value.
    const read = (encoding: 'json' | 'protobuf') =>
      JSON.parse(
        JSON.stringify(decodeOtlp(request.encoded(encoding), TYPES[encoding]), (name, value: unknown) =>
          ['negative', 'droppedAttributesCount'].includes(name) ? undefined : value,
        ),
      ) as unknown;
    expect(read('protobuf')).toEqual(read('json'));
  });

  test('has cumulative sums and histograms with their start', () => {
    const metrics = metricsOf(decodeOtlp(request.encoded('protobuf'), TYPES.protobuf));
    const { sum } = metrics.find(({ name }) => name === 'svc.checks') ?? {};
    const cumulative = 'AGGREGATION_TEMPORALITY_CUMULATIVE';
    expect(sum).toMatchObject({ aggregationTemporality: cumulative, isMonotonic: true });
    const times = { startTimeUnixNano: `${STARTED_AT}000000`, timeUnixNano: `${AT}000000` };
    expect(sum?.dataPoints[0]).toMatchObject({ ...times, asInt: '2' });
    const durations = metrics.find(({ name }) => name === 'svc.check.duration');
    const histograms = kind === 'explicit' ? durations?.histogram : durations?.exponentialHistogram;
    expect(histograms).toMatchObject({ aggregationTemporality: cumulative });
    expect(histograms?.dataPoints[0]).toMatchObject({ ...times, count: '2', sum: 0.04 });
  });

  test('has the attributes of its resource and of the monitor, and no secret of its target', () => {
    const decoded = decodeOtlp(request.encoded('protobuf'), TYPES.protobuf);
    expect(attributesOf(decoded.resourceMetrics?.[0]?.resource ?? { attributes: [] })).toEqual({
      team: 'a,b',
    });
    const [point] = metricsOf(decoded)[0]?.sum?.dataPoints ?? [];
    expect(point && attributesOf(point)).toMatchObject({
      'svc.monitor.id': '5',
      'svc.monitor.name': MONITOR.name,
      'svc.monitor.kind': 'http',
      'svc.region': 'hosta-fra',
    });
    expect(JSON.stringify(decoded)).not.toContain('secret');
  });
});

describe('the certificate that a region saw is exported', () => {
  const seen = { status_code: 200, certificate_expires_at: AT + HOUR_MS };
  const remaining = (...more: Parameters<typeof requestOf>) =>
    valuesIn(requestOf(...more))['svc.monitor.certificate.remaining{}'];

  test('while the region reports, also when a failing check sees no certificate', () => {
    const totals = totalsOf([seen, { outcome: 'failed', error_type: 'timeout' }]);
    const monitor = { regions: null };
    expect(remaining(totals, { monitor })).toBe(3_600);
    expect(remaining(totals, { monitor, at: AT + 90_000 })).toBe(3_510);
    expect(remaining(totals, { monitor, at: AT + 90_001 })).toBeUndefined();
  });

  test.each([
    ['the monitor is paused', { active: false }],
    ['the region is not declared any more', { regions: ['hostb-par'] }],
  ] as const)('not when %s, and its counts stay', (_, monitor) => {
    const request = requestOf(totalsOf([seen]), { monitor });
    expect(valuesIn(request)).toMatchObject({ 'svc.checks{passed}': 1 });
    expect(remaining(totalsOf([seen]), { monitor })).toBeUndefined();
  });

  test('not after a check that passed without a certificate', () => {
    expect(remaining(totalsOf([seen, { status_code: 200 }]))).toBeUndefined();
  });
});

test('the uptime is that of the known time in 24 hours', () => {
  const history: StatusSince[] = [
    { at: AT - 30 * HOUR_MS, status: 'active' },
    { at: AT - 12 * HOUR_MS, status: 'unknown' },
    { at: AT - 4 * HOUR_MS, status: 'error' },
  ];
  expect(valuesIn(requestOf(totalsOf([]), { history }))).toMatchObject({
    'svc.monitor.uptime{}': 0.75,
    'svc.monitor.status{error}': 1,
    'svc.monitor.status{active}': 0,
  });
  expect(valuesIn(requestOf(totalsOf([])))).not.toHaveProperty('svc.monitor.uptime{}');
});

test('durations have a bounded number of series, and further ones are counted in one more', () => {
  const codes = Array.from({ length: MOST_DURATION_SERIES + 30 }, (_, place) => 200 + place);
  const values = valuesIn(requestOf(totalsOf(codes.map((status_code) => ({ status_code })))));
  const durations = Object.entries(values).filter(([name]) => name.startsWith('svc.check.duration'));
  expect(durations).toHaveLength(MOST_DURATION_SERIES + 1);
  expect(durations.at(-1)).toEqual(['svc.check.duration{true}', 30]);
});
