import type { Resource } from '@opentelemetry/resources';
import type { MetricProducer } from '@opentelemetry/sdk-metrics';
import type { Instrument, Unit } from '../metrics/instrument.ts';
import type { DistributionValues, Measurement, Point } from '../metrics/values.ts';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type HrTime,
  hrTime,
  type MetricData,
  SCOPE_NAME,
  ValueType,
} from '../otlp/metric-data.ts';
import { VERSION } from '../version.ts';

type ProducerParts = {
  readonly resource: Resource;
  /** Returns the measurements. It is called once for each export. */
  readonly measurements: () => readonly Measurement[];
  /** The present time, epoch ms. */
  readonly now: () => number;
};

/**
 * Gives OpenTelemetry's reader the metrics of the process. The meters of its SDK are not used, so that
 * `/metrics` and OTLP have one registry. Sums and histograms are cumulative since the `startedAt` of their
 * point.
 */
export function ownMetricsProducer({ resource, measurements, now }: ProducerParts): MetricProducer {
  return {
    async collect() {
      const endTime = hrTime(now());
      const metrics = measurements().flatMap((measurement) => metricOf(measurement, endTime));
      const scope = { name: SCOPE_NAME, version: VERSION };
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

/** The metrics of a measurement; the list is empty when the measurement has no point. */
function metricOf({ instrument, points }: Measurement, endTime: HrTime): MetricData[] {
  const at = <T>({ labels, startedAt }: Point, value: T): DataPoint<T> => ({
    attributes: labels,
    startTime: hrTime(startedAt),
    endTime,
    value,
  });
  const base = {
    descriptor: {
      ...otlpName(instrument),
      description: instrument.description,
      valueType: typeOf(instrument),
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const numbers = points.flatMap((point) => {
    const { value } = point;
    // JSON has no infinity.
    return typeof value === 'number' && Number.isFinite(value) ? [at(point, value)] : [];
  });
  const distributions = points.flatMap((point) => {
    const { value } = point;
    return typeof value === 'number' ? [] : [at(point, histogramOf(value))];
  });
  if (numbers.length + distributions.length === 0) return [];
  switch (instrument.kind) {
    case 'counter':
      return [{ ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers }];
    case 'gauge':
      return [{ ...base, dataPointType: DataPointType.GAUGE, dataPoints: numbers }];
    case 'histogram':
      return [{ ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: distributions }];
    default:
      return instrument.kind satisfies never;
  }
}

function histogramOf({ bounds, counts, sum, count }: DistributionValues) {
  return { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count };
}

/**
 * The type depends on the declaration and not on the value, because it must not change from export to export.
 */
function typeOf({ kind, unit }: Instrument): ValueType {
  return kind === 'counter' && unit === null ? ValueType.INT : ValueType.DOUBLE;
}

/** Units in UCUM, as OTLP requires. */
const UNITS = { seconds: 's', bytes: 'By' } as const satisfies Record<Unit, string>;

/**
 * Name and unit of an instrument in OTLP. A name in OTLP contains neither the unit nor `_total`.
 * Receivers that translate names for Prometheus append both, so a metric has the same name
 * whether it was scraped or exported.
 */
export function otlpName({ name, unit }: Pick<Instrument, 'name' | 'unit'>): { name: string; unit: string } {
  const stem = name.replace(/_total$/, '');
  return unit === null
    ? { name: stem, unit: '' }
    : { name: stem.slice(0, -`_${unit}`.length), unit: UNITS[unit] };
}
