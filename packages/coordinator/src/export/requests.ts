import {
  AggregationTemporality,
  type Attributes,
  type DataPoint,
  DataPointType,
  hrTime,
  JsonMetricsSerializer,
  type MetricData,
  ProtobufMetricsSerializer,
  type ResourceMetrics,
  resourceFromAttributes,
  SCOPE_NAME,
  ValueType,
} from '@svc/shared/otlp/metric-data.ts';
import { VERSION } from '@svc/shared/version.ts';
import { COUNTED_OUTCOMES } from '../store/export-totals.ts';
import { type LiveMonitor, MONITOR_STATUSES } from '../verdict/monitor.ts';
import { freshForMs } from '../verdict/status.ts';
import { NO_TIMES, type StatusSince, timesBetween } from '../verdict/uptime.ts';
import type { Encoding } from './export-settings.ts';
import { ATTRIBUTE, EXPORTED_METRICS, type MetricKey } from './exported-metrics.ts';
import { EXPLICIT_BOUNDS, type Histogram, type HistogramKind, secondsOf } from './histograms.ts';
import { PHASE_NAMES, type RegionTotals, shownTarget, type Totals } from './totals.ts';

/** Span of the exported uptime, ms. */
const UPTIME_MS = 24 * 3_600_000;

const SERIALIZERS = { json: JsonMetricsSerializer, protobuf: ProtobufMetricsSerializer };

/** Everything that is exported about a monitor. */
export type ExportedMonitor = {
  readonly monitor: LiveMonitor;
  readonly totals: Totals;
  /** The monitor's statuses in the last {@link UPTIME_MS}, oldest first. */
  readonly history: readonly StatusSince[];
};

type Frame = {
  readonly resource: readonly (readonly [name: string, value: string])[];
  readonly histograms: HistogramKind;
  /** Instant of all points, epoch ms. */
  readonly at: number;
};

/** Adds a point with the attributes of the monitor and the point's own attributes. */
type Adding = <T>(to: DataPoint<T>[], own: Attributes, value: T) => void;

/**
 * A request with the points of some monitors. It keeps the points as
 * OpenTelemetry's SDK passes them to its exporters.
 */
export class MetricsRequest {
  readonly #frame: Frame;
  readonly #checks: DataPoint<number>[] = [];
  readonly #durations: DataPoint<Histogram>[] = [];
  readonly #phases: DataPoint<Histogram>[] = [];
  readonly #statuses: DataPoint<number>[] = [];
  readonly #uptimes: DataPoint<number>[] = [];
  readonly #certificates: DataPoint<number>[] = [];

  constructor(frame: Frame) {
    this.#frame = frame;
  }

  add({ monitor, totals, history }: ExportedMonitor): void {
    const { at } = this.#frame;
    const of = {
      [ATTRIBUTE.monitorId]: String(monitor.id),
      [ATTRIBUTE.monitorName]: monitor.name,
      [ATTRIBUTE.monitorKind]: monitor.type,
      [ATTRIBUTE.target]: shownTarget(monitor),
    };
    const startTime = hrTime(totals.startedAt);
    const endTime = hrTime(at);
    const add: Adding = (to, own, value) =>
      to.push({ attributes: { ...of, ...own }, startTime, endTime, value });
    for (const region of totals.regions) {
      this.#addRegion(region, add);
      if (region.certificateExpiresAt !== null && isSeen(monitor, region, at))
        add(
          this.#certificates,
          { [ATTRIBUTE.region]: region.region },
          (region.certificateExpiresAt - at) / 1_000,
        );
    }
    const status = history.at(-1)?.status ?? 'unknown';
    for (const each of MONITOR_STATUSES)
      add(this.#statuses, { [ATTRIBUTE.state]: each }, Number(each === status));
    const uptime = uptimeOf(history, at);
    if (uptime !== null) add(this.#uptimes, {}, uptime);
  }

  get points(): number {
    const lists = [
      this.#checks,
      this.#durations,
      this.#phases,
      this.#statuses,
      this.#uptimes,
      this.#certificates,
    ];
    return lists.reduce((sum, { length }) => sum + length, 0);
  }

  encoded(encoding: Encoding): Uint8Array {
    return SERIALIZERS[encoding].serializeRequest(this.#resourceMetrics()) ?? new Uint8Array();
  }

  #resourceMetrics(): ResourceMetrics {
    const metrics = [
      sum('checks', this.#checks),
      this.#histograms('duration', this.#durations),
      this.#histograms('phase', this.#phases),
      gauge('status', this.#statuses),
      gauge('uptime', this.#uptimes),
      gauge('certificate', this.#certificates),
    ].filter(({ dataPoints }) => dataPoints.length > 0);
    return {
      resource: resourceFromAttributes(Object.fromEntries(this.#frame.resource)),
      scopeMetrics: [{ scope: { name: SCOPE_NAME, version: VERSION }, metrics }],
    };
  }

  #addRegion({ region, checks, durations, phases }: RegionTotals, add: Adding): void {
    for (const outcome of COUNTED_OUTCOMES)
      add(this.#checks, { [ATTRIBUTE.region]: region, [ATTRIBUTE.outcome]: outcome }, checks[outcome]);
    for (const { outcome, statusCode, errorType, histogram } of durations) {
      const own: Attributes = { [ATTRIBUTE.region]: region };
      if (outcome === null) own[ATTRIBUTE.overflow] = true;
      else own[ATTRIBUTE.outcome] = outcome;
      if (statusCode !== undefined) own[ATTRIBUTE.statusCode] = statusCode;
      if (errorType !== undefined) own[ATTRIBUTE.errorType] = errorType;
      add(this.#durations, own, histogram);
    }
    for (const phase of PHASE_NAMES) {
      const histogram = phases[phase];
      if (histogram !== undefined)
        add(this.#phases, { [ATTRIBUTE.region]: region, [ATTRIBUTE.phase]: phase }, histogram);
    }
  }

  #histograms(key: MetricKey, points: readonly DataPoint<Histogram>[]): MetricData {
    const base = baseOf(key, ValueType.DOUBLE);
    const withValue = <T>(convert: (histogram: Histogram) => T): DataPoint<T>[] =>
      points.map((point) => ({ ...point, value: convert(point.value) }));
    return this.#frame.histograms === 'explicit'
      ? { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: withValue(explicit) }
      : { ...base, dataPointType: DataPointType.EXPONENTIAL_HISTOGRAM, dataPoints: withValue(exponential) };
  }
}

/** The JSON that the serializer writes around the resources of a request, and between two resources. */
const JSON_FRAME = {
  begin: Buffer.from('{"resourceMetrics":['),
  between: Buffer.from(','),
  end: Buffer.from(']}'),
};

/**
 * Joins encoded requests into one request, in newly allocated memory. A request is a list of resources: the
 * JSON lists are joined, and Protobuf reads concatenated lists as one list.
 */
export function joined(bodies: readonly Uint8Array[], encoding: Encoding): Uint8Array {
  const parts = encoding === 'json' ? jsonParts(bodies) : bodies;
  const whole = new Uint8Array(parts.reduce((bytes, { length }) => bytes + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function jsonParts(bodies: readonly Uint8Array[]): Uint8Array[] {
  const { begin, between, end } = JSON_FRAME;
  const resources = bodies.flatMap((body, index) => [
    index === 0 ? begin : between,
    body.subarray(begin.length, body.length - end.length),
  ]);
  return [...resources, end];
}

function baseOf(key: MetricKey, valueType: ValueType) {
  const { name, unit, description } = EXPORTED_METRICS[key];
  return {
    descriptor: { name, unit, description, valueType },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
}

function sum(key: MetricKey, dataPoints: DataPoint<number>[]): MetricData {
  return { ...baseOf(key, ValueType.INT), dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}

function gauge(key: MetricKey, dataPoints: DataPoint<number>[]): MetricData {
  return { ...baseOf(key, ValueType.DOUBLE), dataPointType: DataPointType.GAUGE, dataPoints };
}

/** The histogram has no minimum and no maximum: the extremes since the first check would say little. */
function explicit(of: Histogram) {
  return {
    count: of.count,
    sum: secondsOf(of),
    buckets: { boundaries: [...EXPLICIT_BOUNDS], counts: of.counts },
  };
}

function exponential(of: Histogram) {
  return {
    count: of.count,
    sum: secondsOf(of),
    scale: of.scale ?? 0,
    zeroCount: of.zero,
    positive: { offset: of.offset, bucketCounts: of.counts },
    negative: { offset: 0, bucketCounts: [] },
  };
}

/**
 * Whether the region checks the target at present. If not, the remaining time of the
 * target's certificate is not exported, because receivers would take the old value for the
 * present value. The region's counts are still exported.
 */
function isSeen(monitor: LiveMonitor, { region, seenAt }: RegionTotals, at: number): boolean {
  const { active, regions, periodMs, longestCheckMs } = monitor;
  const isDeclared = regions === null || regions.some((declared) => declared === region);
  return active && isDeclared && at - seenAt <= freshForMs(periodMs, longestCheckMs);
}

/** The uptime, 0 to 1; null: no status is known within {@link UPTIME_MS}. */
function uptimeOf(history: readonly StatusSince[], at: number): number | null {
  const [times = NO_TIMES] = timesBetween(history, [at - UPTIME_MS, at]);
  const { active, degraded, error } = times;
  const known = active + degraded + error;
  return known === 0 ? null : (active + degraded) / known;
}
