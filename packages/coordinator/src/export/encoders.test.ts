import { JsonMetricsSerializer, ProtobufMetricsSerializer } from 'otlp-definitions';
import { describe, expect, test } from 'vitest';
import { decodeOtlp, metricsOf } from '../../../../test/support/otlp-receiver.ts';
import { Attributes, NO_ATTRIBUTES } from './attributes.ts';
import { EXPLICIT_BOUNDS, type HistogramKind, Histograms, NS_PER_S } from './histograms.ts';
import { JsonEncoder } from './json-encoder.ts';
import { EXPORTED_METRICS } from './metrics.ts';
import { ProtobufEncoder } from './protobuf-encoder.ts';
import { CONTENT_TYPES, type RequestEncoder } from './request-encoder.ts';

/** As `@opentelemetry/sdk-metrics` numbers them. */
const DataPointType = { HISTOGRAM: 0, EXPONENTIAL_HISTOGRAM: 1, GAUGE: 2, SUM: 3 } as const;
const CUMULATIVE = 1;
type ResourceMetrics = Parameters<typeof ProtobufMetricsSerializer.serializeRequest>[0];

const STARTED_AT = 1_795_000_000_123;
const AT = 1_795_000_060_456;
const MONITOR = [
  ['svc.monitor.id', '7'],
  ['svc.monitor.name', 'Käse "to go"\\ 💶'],
] as const;
const DURATIONS = [0, 0.0001, 0.0123, 0.0123, 0.25, 1.75, 86_400];

const SCOPE = { name: 'svc', version: '1.2.3' };
const RESOURCE = [
  ['service.name', 'svc'],
  ['team', 'a,b'],
] as const;

function histogramOf(kind: HistogramKind, values: readonly number[]) {
  const histograms = new Histograms(kind);
  // Its place is not the first, and neither are those of its buckets.
  histograms.record(histograms.add(), NS_PER_S);
  const at = histograms.add();
  for (const value of values) histograms.record(at, Math.round(value * NS_PER_S));
  return { histograms, at };
}

function ours(encoder: RequestEncoder, histograms: HistogramKind): Uint8Array {
  const having = (...own: [string, string | number | boolean][]) => new Attributes(own);
  const [some, none] = [histogramOf(histograms, DURATIONS), histogramOf(histograms, [])];
  // Twice: the second time everything that is kept of the attributes is there.
  for (const _ of [1, 2]) {
    encoder.beginMonitor(MONITOR, STARTED_AT);
    encoder.sum('checks', having(['svc.check.outcome', 'passed']), 2 ** 40 + 1);
    encoder.histogram('duration', having(['http.response.status_code', 200]), some.histograms, some.at);
    encoder.histogram('phase', NO_ATTRIBUTES, none.histograms, none.at);
    encoder.gauge('uptime', NO_ATTRIBUTES, 0.999);
    encoder.gauge('certificate', having(['otel.metric.overflow', true]), -12.5);
  }
  return encoder.finish();
}

const time = (ms: number): [number, number] => [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000];

/** The same by OpenTelemetry's own serializers. */
function theirs(histograms: HistogramKind): ResourceMetrics {
  const common = { startTime: time(STARTED_AT), endTime: time(AT) };
  const monitor = Object.fromEntries(MONITOR);
  const twice = <T>(point: T): T[] => [point, point];
  const value = (values: readonly number[]) => {
    const { histograms: all, at } = histogramOf(histograms, values);
    const { count, sum, scale, zero, offset, counts } = all.data(at);
    return scale === null
      ? { count, sum, buckets: { boundaries: [...EXPLICIT_BOUNDS], counts } }
      : {
          count,
          sum,
          scale,
          zeroCount: zero,
          positive: { offset, bucketCounts: counts },
          negative: { offset: 0, bucketCounts: [] },
        };
  };
  const metric = (key: keyof typeof EXPORTED_METRICS, dataPointType: number, point: object) => {
    const { name, unit, description } = EXPORTED_METRICS[key];
    return {
      descriptor: { name, unit, description, valueType: key === 'checks' ? 0 : 1, advice: {} },
      aggregationTemporality: CUMULATIVE,
      dataPointType,
      isMonotonic: key === 'checks',
      dataPoints: twice({ ...common, ...point }),
    };
  };
  const durations =
    histograms === 'exponential' ? DataPointType.EXPONENTIAL_HISTOGRAM : DataPointType.HISTOGRAM;
  return {
    resource: { attributes: Object.fromEntries(RESOURCE) },
    scopeMetrics: [
      {
        scope: SCOPE,
        metrics: [
          metric('checks', DataPointType.SUM, {
            attributes: { ...monitor, 'svc.check.outcome': 'passed' },
            value: 2 ** 40 + 1,
          }),
          metric('duration', durations, {
            attributes: { ...monitor, 'http.response.status_code': 200 },
            value: value(DURATIONS),
          }),
          metric('phase', durations, { attributes: monitor, value: value([]) }),
          metric('uptime', DataPointType.GAUGE, { attributes: monitor, value: 0.999 }),
          metric('certificate', DataPointType.GAUGE, {
            attributes: { ...monitor, 'otel.metric.overflow': true },
            value: -12.5,
          }),
        ],
      },
    ],
  } as unknown as ResourceMetrics;
}

/** Without what only one of both writes out although it says nothing. */
function comparable(body: Uint8Array, contentType: string) {
  const { resourceMetrics } = decodeOtlp(body, contentType);
  const text = JSON.stringify(resourceMetrics, (name, value: unknown) => {
    const saysNothing =
      ['droppedAttributesCount', 'flags', 'zeroThreshold', 'negative', 'schemaUrl'].includes(name) ||
      // A gauge has no start.
      name === 'startTimeUnixNano' ||
      (name === 'zeroCount' && value === '0') ||
      (name === 'offset' && value === 0);
    return saysNothing ? undefined : value;
  });
  return JSON.parse(text) as unknown;
}

describe.each(['exponential', 'explicit'] as const)('a request with %s histograms', (histograms) => {
  const frame = { resource: new Attributes(RESOURCE), scope: SCOPE, histograms, at: AT };
  const json = ours(new JsonEncoder(frame), histograms);
  const protobuf = ours(new ProtobufEncoder(frame), histograms);

  test('is the same in JSON and in protobuf', () => {
    expect(decodeOtlp(protobuf, CONTENT_TYPES.protobuf)).toEqual(decodeOtlp(json, CONTENT_TYPES.json));
  });

  test('is what OpenTelemetry’s serializers make of it', () => {
    const official = theirs(histograms);
    const asProtobuf = ProtobufMetricsSerializer.serializeRequest(official) ?? new Uint8Array();
    expect(comparable(protobuf, CONTENT_TYPES.protobuf)).toEqual(
      comparable(asProtobuf, CONTENT_TYPES.protobuf),
    );
    const asJson = JsonMetricsSerializer.serializeRequest(official) ?? new Uint8Array();
    expect(comparable(json, CONTENT_TYPES.json)).toEqual(comparable(asJson, CONTENT_TYPES.json));
  });

  test('has cumulative sums and histograms from their start on', () => {
    const metrics = metricsOf(decodeOtlp(protobuf, CONTENT_TYPES.protobuf));
    const { sum } = metrics[0] ?? {};
    expect(sum).toMatchObject({
      aggregationTemporality: 'AGGREGATION_TEMPORALITY_CUMULATIVE',
      isMonotonic: true,
    });
    expect(sum?.dataPoints[0]).toMatchObject({
      startTimeUnixNano: `${STARTED_AT}000000`,
      timeUnixNano: `${AT}000000`,
      asInt: String(2 ** 40 + 1),
    });
  });
});

test('a request counts its points, and knows about how long it is', () => {
  const frame = { resource: new Attributes([]), scope: SCOPE, histograms: 'exponential', at: AT } as const;
  for (const encoder of [new JsonEncoder(frame), new ProtobufEncoder(frame)]) {
    const { length } = ours(encoder, 'exponential');
    expect(encoder.points).toBe(10);
    expect(encoder.bytes).toBeGreaterThan(length / 2);
    expect(encoder.bytes).toBeLessThan(length);
  }
});
