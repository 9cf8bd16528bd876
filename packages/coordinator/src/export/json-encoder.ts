import type { AttributeList, Attributes, AttributeValue } from './attributes.ts';
import { ByteWriter } from './byte-writer.ts';
import { EXPLICIT_BOUNDS, type Histograms } from './histograms.ts';
import { EXPORTED_METRICS, METRIC_KEYS, type MetricKey, memberOf, perMetric } from './metrics.ts';
import type { RequestEncoder, RequestFrame } from './request-encoder.ts';

const CUMULATIVE = 2;
const COMMA = 44;
const QUOTE = 34;

const TEXT = {
  begin: utf8('{'),
  start: utf8('{"startTimeUnixNano":"'),
  // Times are known in ms; what they are in ns exceeds what a number holds exactly.
  nanoseconds: utf8('000000",'),
  asInt: utf8('],"asInt":"'),
  asDouble: utf8('],"asDouble":'),
  count: utf8('],"count":"'),
  sum: utf8('","sum":'),
  bucketCounts: utf8(',"bucketCounts":['),
  explicitBounds: utf8(`],"explicitBounds":[${EXPLICIT_BOUNDS.join(',')}]}`),
  scale: utf8(',"scale":'),
  zeroCount: utf8(',"zeroCount":"'),
  positive: utf8(',"positive":{"offset":'),
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
  /** The time of all points, and the beginning of their attributes. */
  #time: Uint8Array = new Uint8Array();
  /** What all points of the monitor begin with: its times and attributes. */
  #head: Uint8Array = new Uint8Array();
  /** The same of gauges, which have no start. */
  #gaugeHead: Uint8Array = new Uint8Array();
  readonly #heads = new ByteWriter();
  readonly #byMetric = perMetric(() => new ByteWriter());
  readonly #body = new ByteWriter();

  constructor(frame: RequestFrame) {
    this.#frame = frame;
    this.begin(frame);
  }

  get bytes(): number {
    return METRIC_KEYS.reduce((sum, key) => sum + this.#byMetric[key].length, 0);
  }

  begin(frame: RequestFrame): void {
    this.#frame = frame;
    this.points = 0;
    this.#time = utf8(`"timeUnixNano":"${Math.trunc(frame.at)}000000","attributes":[`);
    for (const key of METRIC_KEYS) this.#byMetric[key].clear();
  }

  beginMonitor(attributes: AttributeList, startedAt: number): void {
    const heads = this.#heads;
    const members = utf8(textOf(attributes));
    heads.clear();
    heads.raw(TEXT.start);
    heads.decimal(Math.trunc(startedAt));
    heads.raw(TEXT.nanoseconds);
    heads.raw(this.#time);
    heads.raw(members);
    const gaugesFrom = heads.length;
    heads.raw(TEXT.begin);
    heads.raw(this.#time);
    heads.raw(members);
    const written = heads.written();
    this.#head = written.subarray(0, gaugesFrom);
    this.#gaugeHead = written.subarray(gaugesFrom);
  }

  sum(metric: MetricKey, own: Attributes, value: number): void {
    const writer = this.#point(metric, this.#head, own);
    writer.raw(TEXT.asInt);
    writer.decimal(value);
    writer.raw(TEXT.endOfText);
  }

  gauge(metric: MetricKey, own: Attributes, value: number): void {
    const writer = this.#point(metric, this.#gaugeHead, own);
    writer.raw(TEXT.asDouble);
    writer.decimal(value);
    writer.raw(TEXT.end);
  }

  histogram(metric: MetricKey, own: Attributes, histograms: Histograms, at: number): void {
    const writer = this.#point(metric, this.#head, own);
    writer.raw(TEXT.count);
    writer.decimal(histograms.counts[at] as number);
    writer.raw(TEXT.sum);
    writer.billionths(histograms.sums[at] as number);
    if (histograms.kind === 'explicit') {
      writeBuckets(writer, histograms, at);
      writer.raw(TEXT.explicitBounds);
    } else {
      writer.raw(TEXT.scale);
      writer.decimal(histograms.scales[at] as number);
      const zeros = histograms.zeros[at] as number;
      if (zeros > 0) {
        writer.raw(TEXT.zeroCount);
        writer.decimal(zeros);
        writer.byte(QUOTE);
      }
      writer.raw(TEXT.positive);
      writer.decimal(histograms.offsets[at] as number);
      writeBuckets(writer, histograms, at);
      writer.raw(TEXT.endOfBuckets);
    }
  }

  finish(): Uint8Array {
    const { resource, scope } = this.#frame;
    const { name, version } = scope;
    const body = this.#body;
    body.clear();
    body.raw(utf8('{"resourceMetrics":[{"resource":{"attributes":['));
    body.raw(utf8(textOf(resource.list)));
    body.raw(utf8(`]},"scopeMetrics":[{"scope":${JSON.stringify({ name, version })},"metrics":[`));
    let isFirst = true;
    for (const key of METRIC_KEYS) {
      if (this.#byMetric[key].length === 0) continue;
      if (!isFirst) body.byte(COMMA);
      isFirst = false;
      this.#metric(key);
    }
    body.raw(utf8(']}]}]}'));
    return body.written();
  }

  #point(metric: MetricKey, head: Uint8Array, own: Attributes): ByteWriter {
    const writer = this.#byMetric[metric];
    if (writer.length > 0) writer.byte(COMMA);
    writer.raw(head);
    writer.raw(membersOf(own));
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
    this.#body.raw(this.#byMetric[key].written());
    this.#body.raw(utf8(`]${temporality}${monotonic}}}`));
  }
}

/** With their member, without its end. */
function writeBuckets(writer: ByteWriter, histograms: Histograms, at: number): void {
  const start = histograms.starts[at] as number;
  writer.raw(TEXT.bucketCounts);
  writer.quotedDecimals(histograms.blocks.buckets, start, start + (histograms.lengths[at] as number));
}

function membersOf(attributes: Attributes): Uint8Array {
  attributes.json ??= utf8(attributes.list.length === 0 ? '' : `,${textOf(attributes.list)}`);
  return attributes.json;
}

function textOf(list: AttributeList): string {
  let text = '';
  for (const [key, value] of list) {
    const comma = text === '' ? '' : ',';
    text += `${comma}{"key":${JSON.stringify(key)},"value":${anyValue(value)}}`;
  }
  return text;
}

function anyValue(value: AttributeValue): string {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`;
  return typeof value === 'number' ? `{"intValue":"${value}"}` : `{"boolValue":${value}}`;
}

function utf8(text: string): Uint8Array {
  return Buffer.from(text);
}
