import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { Attributes, NO_ATTRIBUTES } from './attributes.ts';
import { type HistogramKind, Histograms } from './histograms.ts';
import { JsonEncoder } from './json-encoder.ts';
import { EXPORTED_METRICS, METRIC_KEYS, type MetricKey } from './metrics.ts';
import { encodeLog, PointLog } from './point-log.ts';
import { ProtobufEncoder } from './protobuf-encoder.ts';
import type { RequestEncoder } from './request-encoder.ts';

const AT = 1_795_000_060_456;
const OWN = [
  NO_ATTRIBUTES,
  new Attributes([['svc.region', 'hosta-fra']]),
  new Attributes([
    ['svc.region', 'hosta-fra'],
    ['http.response.status_code', 503],
    ['otel.metric.overflow', true],
  ]),
];

const text = anyText({ maxLength: 300 });
const point = fc.record({
  metric: fc.constantFrom(...METRIC_KEYS),
  own: fc.constantFrom(...OWN),
  count: fc.maxSafeNat(),
  gauge: fc.double({ noNaN: true, noDefaultInfinity: true }),
  durations: fc.array(fc.nat({ max: 4_000_000_000_000 }), { maxLength: 30 }),
  /** Of the last bucket. */
  many: fc.nat({ max: 0xffff_ffff }),
});
const monitors = fc.array(
  fc.record({ name: text, startedAt: fc.nat({ max: AT }), points: fc.array(point, { maxLength: 12 }) }),
  { maxLength: 5 },
);
type Monitors = typeof monitors extends fc.Arbitrary<infer M> ? M : never;

function histogramOf(histograms: Histograms, durations: readonly number[], many: number): number {
  const at = histograms.add();
  for (const ns of durations) histograms.record(at, ns);
  const length = histograms.lengths[at] as number;
  if (length > 0) histograms.blocks.buckets[(histograms.starts[at] as number) + length - 1] = many;
  return at;
}

function write(encoder: RequestEncoder, kind: HistogramKind, written: Monitors): void {
  const histograms = new Histograms(kind);
  for (const { name, startedAt, points } of written) {
    encoder.beginMonitor(
      [
        ['svc.monitor.id', '7'],
        ['svc.monitor.name', name],
      ],
      startedAt,
    );
    for (const { metric, own, count, gauge, durations, many } of points) {
      const { kind: pointKind } = EXPORTED_METRICS[metric as MetricKey];
      if (pointKind === 'sum') encoder.sum(metric, own, count);
      else if (pointKind === 'gauge') encoder.gauge(metric, own, gauge);
      else encoder.histogram(metric, own, histograms, histogramOf(histograms, durations, many));
    }
  }
}

describe.each(['exponential', 'explicit'] as const)('a log of points with %s histograms', (histograms) => {
  const frameAt = (at: number) => ({
    resource: new Attributes([['service.name', 'svc']]),
    scope: { name: 'svc', version: '1' },
    histograms,
    at,
  });
  const log = new PointLog(frameAt(0));

  test.each([
    ['JSON', JsonEncoder],
    ['protobuf', ProtobufEncoder],
  ])('becomes the request that %s would have been', (_name, Encoder) => {
    fc.assert(
      fc.property(monitors, (written) => {
        const direct = new Encoder(frameAt(AT));
        write(direct, histograms, written);
        log.begin(frameAt(AT));
        write(log, histograms, written);
        const encoded = encodeLog(log.finish().slice(), histograms, (at) => new Encoder(frameAt(at)));
        expect(encoded.points).toBe(direct.points);
        expect(log.points).toBe(direct.points);
        expect(Buffer.from(encoded.finish()).equals(direct.finish())).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  test('knows how long its request is at most', () => {
    fc.assert(
      fc.property(monitors, (written) => {
        log.begin(frameAt(AT));
        write(log, histograms, written);
        const json = new JsonEncoder(frameAt(AT));
        write(json, histograms, written);
        expect(log.bytes).toBeGreaterThanOrEqual(json.bytes);
      }),
      { numRuns: 100 },
    );
  });
});
