import type { Attributes, AttributeValue } from './attributes.ts';
import { EXPLICIT_BOUNDS, type HistogramData } from './histogram.ts';
import { EXPORTED_METRICS, METRIC_KEYS, type MetricKey, memberOf } from './metrics.ts';
import type { RequestEncoder, RequestFrame } from './request-encoder.ts';

const CUMULATIVE = 2;
const BOUNDS = EXPLICIT_BOUNDS.join(',');

/** JSON of OTLP: protobuf's mapping with names in camel case, 64-bit integers as texts (OTLP 1.10, "JSON Protobuf Encoding"). */
export class JsonEncoder implements RequestEncoder {
  points = 0;
  bytes = 0;
  readonly #frame: RequestFrame;
  readonly #time: string;
  readonly #byMetric = new Map<MetricKey, string[]>();
  #start = '';

  constructor(frame: RequestFrame) {
    this.#frame = frame;
    this.#time = `"timeUnixNano":"${nanoseconds(frame.at)}"`;
  }

  startAt(startedAt: number): void {
    this.#start = `"startTimeUnixNano":"${nanoseconds(startedAt)}",${this.#time}`;
  }

  sum(metric: MetricKey, attributes: Attributes, value: number): void {
    this.#add(metric, attributes, `${this.#start},"asInt":"${value}"`);
  }

  gauge(metric: MetricKey, attributes: Attributes, value: number): void {
    this.#add(metric, attributes, `${this.#time},"asDouble":${value}`);
  }

  histogram(metric: MetricKey, attributes: Attributes, data: HistogramData): void {
    const { count, sum, min, max, counts, scale, zero, offset } = data;
    const range = min === null ? '' : `,"min":${min},"max":${max}`;
    const common = `${this.#start},"count":"${count}","sum":${sum}${range}`;
    const texts = counts.length === 0 ? '' : `"${counts.join('","')}"`;
    this.#add(
      metric,
      attributes,
      scale === null
        ? `${common},"bucketCounts":[${texts}],"explicitBounds":[${BOUNDS}]`
        : `${common},"scale":${scale},"zeroCount":"${zero}","positive":{"offset":${offset},"bucketCounts":[${texts}]}`,
    );
  }

  finish(): Uint8Array {
    const { resource, scope } = this.#frame;
    const metrics = METRIC_KEYS.flatMap((key) => {
      const points = this.#byMetric.get(key);
      return points === undefined ? [] : [this.#metric(key, points)];
    });
    const { name, version } = scope;
    return Buffer.from(
      `{"resourceMetrics":[{"resource":{"attributes":[${jsonOf(resource)}]},"scopeMetrics":[{"scope":${JSON.stringify({ name, version })},"metrics":[${metrics.join(',')}]}]}]}`,
    );
  }

  #add(metric: MetricKey, attributes: Attributes, rest: string): void {
    const point = `{"attributes":[${jsonOf(attributes)}],${rest}}`;
    const points = this.#byMetric.get(metric);
    if (points === undefined) this.#byMetric.set(metric, [point]);
    else points.push(point);
    this.points += 1;
    this.bytes += point.length + 1;
  }

  #metric(key: MetricKey, points: readonly string[]): string {
    const metric = EXPORTED_METRICS[key];
    const { name, unit, description, kind } = metric;
    const temporality = kind === 'gauge' ? '' : `,"aggregationTemporality":${CUMULATIVE}`;
    const monotonic = kind === 'sum' ? ',"isMonotonic":true' : '';
    const member = memberOf(metric, this.#frame.histograms);
    const described = JSON.stringify({ name, description, unit }).slice(0, -1);
    return `${described},"${member}":{"dataPoints":[${points.join(',')}]${temporality}${monotonic}}}`;
  }
}

/** Text: what a number of nanoseconds is exceeds what a number holds exactly. */
function nanoseconds(epochMs: number): string {
  return `${Math.trunc(epochMs)}000000`;
}

function jsonOf(attributes: Attributes): string {
  attributes.json ??= attributes.list
    .map(([key, value]) => JSON.stringify({ key, value: anyValue(value) }))
    .join(',');
  return attributes.json;
}

function anyValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value };
  return typeof value === 'number' ? { intValue: String(value) } : { boolValue: value };
}
