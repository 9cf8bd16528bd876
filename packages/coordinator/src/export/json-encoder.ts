import type { Attributes, AttributeValue } from './attributes.ts';
import { ByteWriter } from './byte-writer.ts';
import { EXPLICIT_BOUNDS, type HistogramData } from './histogram.ts';
import { EXPORTED_METRICS, METRIC_KEYS, type MetricKey, memberOf } from './metrics.ts';
import type { PointAttributes, RequestEncoder, RequestFrame } from './request-encoder.ts';

const CUMULATIVE = 2;
const COMMA = 44;

const TEXT = {
  attributes: utf8('{"attributes":['),
  endOfAttributes: utf8('],'),
  asInt: utf8(',"asInt":"'),
  asDouble: utf8(',"asDouble":'),
  count: utf8(',"count":"'),
  sum: utf8('","sum":'),
  min: utf8(',"min":'),
  max: utf8(',"max":'),
  bucketCounts: utf8(',"bucketCounts":['),
  explicitBounds: utf8(`],"explicitBounds":[${EXPLICIT_BOUNDS.join(',')}]}`),
  scale: utf8(',"scale":'),
  zeroCount: utf8(',"zeroCount":"'),
  positive: utf8('","positive":{"offset":'),
  quote: utf8('"'),
  between: utf8('","'),
  endOfText: utf8('"}'),
  end: utf8('}'),
  endOfBuckets: utf8(']}}'),
};

/**
 * JSON of OTLP: protobuf's mapping with names in camel case, 64-bit integers as texts (OTLP 1.10, "JSON Protobuf
 * Encoding"). Written as bytes: texts of points would be garbage of some hundred megabytes a minute.
 */
export class JsonEncoder implements RequestEncoder {
  points = 0;
  #frame: RequestFrame;
  #time: Uint8Array = new Uint8Array();
  #times: Uint8Array = new Uint8Array();
  readonly #byMetric = new Map(METRIC_KEYS.map((key) => [key, new ByteWriter()]));
  readonly #body = new ByteWriter();

  constructor(frame: RequestFrame) {
    this.#frame = frame;
    this.begin(frame);
  }

  get bytes(): number {
    return METRIC_KEYS.reduce((sum, key) => sum + this.#of(key).length, 0);
  }

  begin(frame: RequestFrame): void {
    this.#frame = frame;
    this.points = 0;
    this.#time = utf8(`"timeUnixNano":"${nanoseconds(frame.at)}"`);
    for (const points of this.#byMetric.values()) points.clear();
  }

  startAt(startedAt: number): void {
    const time = `"timeUnixNano":"${nanoseconds(this.#frame.at)}"`;
    this.#times = utf8(`"startTimeUnixNano":"${nanoseconds(startedAt)}",${time}`);
  }

  sum(metric: MetricKey, attributes: PointAttributes, value: number): void {
    const writer = this.#point(metric, attributes, this.#times);
    writer.raw(TEXT.asInt);
    writer.decimal(value);
    writer.raw(TEXT.endOfText);
  }

  gauge(metric: MetricKey, attributes: PointAttributes, value: number): void {
    const writer = this.#point(metric, attributes, this.#time);
    writer.raw(TEXT.asDouble);
    writer.decimal(value);
    writer.raw(TEXT.end);
  }

  histogram(metric: MetricKey, attributes: PointAttributes, data: HistogramData): void {
    const writer = this.#point(metric, attributes, this.#times);
    writer.raw(TEXT.count);
    writer.decimal(data.count);
    writer.raw(TEXT.sum);
    writer.decimal(data.sum);
    if (data.min !== null && data.max !== null) {
      writer.raw(TEXT.min);
      writer.decimal(data.min);
      writer.raw(TEXT.max);
      writer.decimal(data.max);
    }
    if (data.scale === null) {
      buckets(writer, data.counts);
      writer.raw(TEXT.explicitBounds);
    } else {
      writer.raw(TEXT.scale);
      writer.decimal(data.scale);
      writer.raw(TEXT.zeroCount);
      writer.decimal(data.zero);
      writer.raw(TEXT.positive);
      writer.decimal(data.offset);
      buckets(writer, data.counts);
      writer.raw(TEXT.endOfBuckets);
    }
  }

  finish(): Uint8Array {
    const { resource, scope } = this.#frame;
    const { name, version } = scope;
    const body = this.#body;
    body.clear();
    body.raw(utf8('{"resourceMetrics":[{"resource":{"attributes":['));
    body.raw(membersOf(resource));
    body.raw(utf8(`]},"scopeMetrics":[{"scope":${JSON.stringify({ name, version })},"metrics":[`));
    let isFirst = true;
    for (const key of METRIC_KEYS) {
      if (this.#of(key).length === 0) continue;
      if (!isFirst) body.byte(COMMA);
      isFirst = false;
      this.#metric(key);
    }
    body.raw(utf8(']}]}]}'));
    return body.written();
  }

  #of(metric: MetricKey): ByteWriter {
    return this.#byMetric.get(metric) as ByteWriter;
  }

  #point(metric: MetricKey, { all, own }: PointAttributes, times: Uint8Array): ByteWriter {
    const writer = this.#of(metric);
    if (writer.length > 0) writer.byte(COMMA);
    writer.raw(TEXT.attributes);
    writer.raw(membersOf(all));
    if (all.list.length > 0 && own.list.length > 0) writer.byte(COMMA);
    writer.raw(membersOf(own));
    writer.raw(TEXT.endOfAttributes);
    writer.raw(times);
    this.points += 1;
    return writer;
  }

  #metric(key: MetricKey): void {
    const metric = EXPORTED_METRICS[key];
    const { name, unit, description, kind } = metric;
    const temporality = kind === 'gauge' ? '' : `,"aggregationTemporality":${CUMULATIVE}`;
    const monotonic = kind === 'sum' ? ',"isMonotonic":true' : '';
    const member = memberOf(metric, this.#frame.histograms);
    const described = JSON.stringify({ name, description, unit }).slice(0, -1);
    this.#body.raw(utf8(`${described},"${member}":{"dataPoints":[`));
    this.#body.raw(this.#of(key).written());
    this.#body.raw(utf8(`]${temporality}${monotonic}}}`));
  }
}

/** With their member, without its end. */
function buckets(writer: ByteWriter, counts: readonly number[]): void {
  writer.raw(TEXT.bucketCounts);
  for (let place = 0; place < counts.length; place += 1) {
    writer.raw(place === 0 ? TEXT.quote : TEXT.between);
    writer.decimal(counts[place] as number);
  }
  if (counts.length > 0) writer.raw(TEXT.quote);
}

/** Text: what a number of nanoseconds is exceeds what a number holds exactly. */
function nanoseconds(epochMs: number): string {
  return `${Math.trunc(epochMs)}000000`;
}

function membersOf(attributes: Attributes): Uint8Array {
  attributes.json ??= utf8(
    attributes.list.map(([key, value]) => JSON.stringify({ key, value: anyValue(value) })).join(','),
  );
  return attributes.json;
}

function anyValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value };
  return typeof value === 'number' ? { intValue: String(value) } : { boolValue: value };
}

function utf8(text: string): Uint8Array {
  return Buffer.from(text);
}
