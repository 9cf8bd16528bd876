import { counter } from '@svc/shared/metrics/instrument.ts';
import { type Measurement, measurementsOf } from '@svc/shared/metrics/values.ts';
import { resourceFromAttributes } from '@svc/shared/otlp/metric-data.ts';
import { ownMetricsProducer } from '@svc/shared/own-metrics/producer.ts';
import { expect, test } from 'vitest';
import { joinMeasurements } from './measurements.ts';

const COUNTERS = { slots: counter('svc_test_slots_total', 'Slots.') };

function measuredBy(shard: number, slots: number, startedAt: number): Measurement[] {
  return measurementsOf(COUNTERS, { slots }, startedAt).map((each) => ({
    ...each,
    points: each.points.map((point) => ({ ...point, labels: { shard: String(shard) } })),
  }));
}

test('the counts of a shard are exported with the start of its own leadership', async () => {
  const joined = joinMeasurements([measuredBy(0, 70, 1_000), measuredBy(1, 3, 9_000)]);
  const { collect } = ownMetricsProducer({
    resource: resourceFromAttributes({}),
    measurements: () => joined,
    now: () => 10_000,
  });
  const metrics = (await collect()).resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  expect(metrics).toHaveLength(1);
  expect(
    metrics[0]?.dataPoints.map(({ attributes, startTime, value }) => [attributes.shard, startTime, value]),
  ).toEqual([
    ['0', [1, 0], 70],
    ['1', [9, 0], 3],
  ]);
});
