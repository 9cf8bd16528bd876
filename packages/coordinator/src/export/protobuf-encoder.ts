import type { AttributeList, Attributes, AttributeValue } from './attributes.ts';
import { EXPLICIT_BOUNDS, type Histograms, NS_PER_S } from './histograms.ts';
import { EXPORTED_METRICS, METRIC_KEYS, type MetricKey, memberOf, perMetric } from './metrics.ts';
import { encodedTime, ProtobufWriter, varintLength, zigzag } from './protobuf-writer.ts';
import type { RequestEncoder, RequestFrame } from './request-encoder.ts';

const CUMULATIVE = 2;

/*
 * Numbers of fields in opentelemetry/proto/metrics/v1/metrics.proto, common.proto and resource.proto (1.10).
 */
const START = 2;
const TIME = 3;
const COUNT = 4;
const SUM = 5;
const MEMBER_FIELD = { gauge: 5, sum: 7, histogram: 9, exponentialHistogram: 10 } as const;

/** Field of the attributes, by the kind of point. */
const ATTRIBUTES = { number: 7, histogram: 9, exponentialHistogram: 1 } as const;
/** Bytes of a tag and of the eight bytes after it. */
const EIGHT_WITH_TAG = 9;

type EncodedMetric = {
  /** Of the whole message. */
  readonly length: number;
  readonly head: Uint8Array;
  /** Field of the points. */
  readonly member: number;
  readonly points: Uint8Array;
};

/** The binary form of OTLP. */
export class ProtobufEncoder implements RequestEncoder {
  points = 0;
  #frame: RequestFrame;
  #at: Uint8Array = new Uint8Array();
  /** What all points of the monitor begin with, its attributes and times, by the kind of point. */
  #sumHead: Uint8Array = new Uint8Array();
  #gaugeHead: Uint8Array = new Uint8Array();
  #histogramHead: Uint8Array = new Uint8Array();
  readonly #heads = new ProtobufWriter();
  readonly #byMetric = perMetric(() => new ProtobufWriter());
  readonly #body = new ProtobufWriter();

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
    this.#at = encodedTime(frame.at);
    for (const key of METRIC_KEYS) this.#byMetric[key].clear();
  }

  beginMonitor(attributes: AttributeList, startedAt: number): void {
    const heads = this.#heads;
    const start = encodedTime(startedAt);
    heads.clear();
    heads.eight(START, start);
    writeFields(heads, ATTRIBUTES.number, attributes);
    heads.eight(TIME, this.#at);
    const sumEnd = heads.length;
    writeFields(heads, this.#histogramAttributes, attributes);
    heads.eight(TIME, this.#at);
    heads.eight(START, start);
    const written = heads.written();
    this.#sumHead = written.subarray(0, sumEnd);
    // A gauge has no start.
    this.#gaugeHead = written.subarray(EIGHT_WITH_TAG, sumEnd);
    this.#histogramHead = written.subarray(sumEnd);
  }

  sum(metric: MetricKey, own: Attributes, value: number): void {
    this.#point(metric, this.#sumHead, fieldsOf(own, ATTRIBUTES.number), EIGHT_WITH_TAG).fixed64(6, value);
  }

  gauge(metric: MetricKey, own: Attributes, value: number): void {
    this.#point(metric, this.#gaugeHead, fieldsOf(own, ATTRIBUTES.number), EIGHT_WITH_TAG).double(4, value);
  }

  histogram(metric: MetricKey, own: Attributes, histograms: Histograms, at: number): void {
    if (histograms.kind === 'exponential') this.#exponential(metric, own, histograms, at);
    else this.#explicit(metric, own, histograms, at);
  }

  finish(): Uint8Array {
    const { resource, scope } = this.#frame;
    const metrics = METRIC_KEYS.filter((key) => this.#byMetric[key].length > 0).map((key) =>
      this.#ended(key),
    );
    const named = written((writer) => {
      writer.text(1, scope.name);
      writer.text(2, scope.version);
    });
    const attributes = written((writer) => writeFields(writer, 1, resource.list));
    const ofScope = fieldLength(named.length) + sumOf(metrics, ({ length }) => fieldLength(length));
    const body = this.#body;
    body.clear();
    body.begin(1, fieldLength(attributes.length) + fieldLength(ofScope));
    body.bytes(1, attributes);
    body.begin(2, ofScope);
    body.bytes(1, named);
    for (const { length, head, member, points } of metrics) {
      body.begin(2, length);
      body.raw(head);
      body.bytes(member, points);
    }
    return body.written();
  }

  #exponential(metric: MetricKey, own: Attributes, histograms: Histograms, at: number): void {
    const scale = zigzag(histograms.scales[at] as number);
    const offset = zigzag(histograms.offsets[at] as number);
    const packed = bucketsLength(histograms, at);
    const buckets = 1 + varintLength(offset) + fieldLength(packed);
    const zeros = histograms.zeros[at] as number;
    const zerosLength = zeros === 0 ? 0 : EIGHT_WITH_TAG;
    const more = 1 + varintLength(scale) + zerosLength + fieldLength(buckets);
    const writer = this.#histogramPoint(metric, own, histograms, { at, more });
    writer.varint(6, scale);
    if (zeros > 0) writer.fixed64(7, zeros);
    writer.begin(8, buckets);
    writer.varint(1, offset);
    writer.begin(2, packed);
    const [start, end] = bucketsOf(histograms, at);
    writer.rawVarints(histograms.blocks.buckets, start, end);
  }

  #explicit(metric: MetricKey, own: Attributes, histograms: Histograms, at: number): void {
    const [start, end] = bucketsOf(histograms, at);
    const counts = (end - start) * 8;
    const bounds = EXPLICIT_BOUNDS.length * 8;
    const more = fieldLength(counts) + fieldLength(bounds);
    const writer = this.#histogramPoint(metric, own, histograms, { at, more });
    writer.begin(6, counts);
    for (let place = start; place < end; place += 1)
      writer.rawFixed64(histograms.blocks.buckets[place] as number);
    writer.begin(7, bounds);
    for (const bound of EXPLICIT_BOUNDS) writer.rawDouble(bound);
  }

  /** @param more bytes of the point that follow */
  #histogramPoint(
    metric: MetricKey,
    own: Attributes,
    histograms: Histograms,
    { at, more }: { readonly at: number; readonly more: number },
  ): ProtobufWriter {
    const owns = fieldsOf(own, this.#histogramAttributes);
    const writer = this.#point(metric, this.#histogramHead, owns, 2 * EIGHT_WITH_TAG + more);
    writer.fixed64(COUNT, histograms.counts[at] as number);
    writer.double(SUM, (histograms.sums[at] as number) / NS_PER_S);
    return writer;
  }

  /**
   * Begins a point. The order of fields means nothing.
   *
   * @param owns fields of the attributes that only this point has
   * @param more bytes of the point that follow
   */
  #point(metric: MetricKey, head: Uint8Array, owns: Uint8Array, more: number): ProtobufWriter {
    const writer = this.#byMetric[metric];
    writer.begin(1, head.length + owns.length + more);
    writer.raw(head);
    writer.raw(owns);
    this.points += 1;
    return writer;
  }

  get #histogramAttributes(): number {
    const { histograms } = this.#frame;
    return histograms === 'exponential' ? ATTRIBUTES.exponentialHistogram : ATTRIBUTES.histogram;
  }

  /** A metric with its points, which are complete. */
  #ended(key: MetricKey): EncodedMetric {
    const metric = EXPORTED_METRICS[key];
    const writer = this.#byMetric[key];
    if (metric.kind !== 'gauge') writer.varint(2, CUMULATIVE);
    if (metric.kind === 'sum') writer.varint(3, 1);
    const points = writer.written();
    const head = written((described) => {
      described.text(1, metric.name);
      described.text(2, metric.description);
      described.text(3, metric.unit);
    });
    const member = MEMBER_FIELD[memberOf(metric, this.#frame.histograms)];
    return { length: head.length + fieldLength(points.length), head, member, points };
  }
}

/** Bytes of a message as a field of another. Its number is below 16. */
function fieldLength(length: number): number {
  return 1 + varintLength(length) + length;
}

function sumOf<T>(list: readonly T[], length: (item: T) => number): number {
  return list.reduce((sum, item) => sum + length(item), 0);
}

function bucketsOf({ starts, lengths }: Histograms, at: number): [start: number, end: number] {
  const start = starts[at] as number;
  return [start, start + (lengths[at] as number)];
}

/** Bytes of the buckets, packed. */
function bucketsLength(histograms: Histograms, at: number): number {
  const [start, end] = bucketsOf(histograms, at);
  const { buckets } = histograms.blocks;
  let length = end - start;
  for (let place = start; place < end; place += 1) {
    const count = buckets[place] as number;
    if (count >= 0x80) length += varintLength(count) - 1;
  }
  return length;
}

function written(write: (writer: ProtobufWriter) => void): Uint8Array {
  const writer = new ProtobufWriter();
  write(writer);
  return writer.written();
}

/** The attributes as fields with this number. */
function fieldsOf(attributes: Attributes, field: number): Uint8Array {
  const known = attributes.protobuf[field];
  if (known !== undefined) return known;
  const bytes = written((writer) => writeFields(writer, field, attributes.list)).slice();
  attributes.protobuf[field] = bytes;
  return bytes;
}

function writeFields(writer: ProtobufWriter, field: number, list: AttributeList): void {
  for (const [name, value] of list) {
    const encoded = encodedValue(value);
    const key = encodedKey(name);
    writer.begin(field, key.length + fieldLength(encoded.length));
    writer.raw(key);
    writer.bytes(2, encoded);
  }
}

/** As the first field of a `KeyValue`. There are few of them. */
const KEYS = new Map<string, Uint8Array>();

function encodedKey(name: string): Uint8Array {
  const known = KEYS.get(name);
  if (known !== undefined) return known;
  const made = written((writer) => writer.text(1, name)).slice();
  KEYS.set(name, made);
  return made;
}

const VALUE = new ProtobufWriter();

/** An `AnyValue`, valid until the next call. */
function encodedValue(value: AttributeValue): Uint8Array {
  VALUE.clear();
  writeValue(VALUE, value);
  return VALUE.written();
}

function writeValue(writer: ProtobufWriter, value: AttributeValue): void {
  if (typeof value === 'string') writer.text(1, value);
  else if (typeof value === 'boolean') writer.varint(2, Number(value));
  else writer.varint(3, value);
}
