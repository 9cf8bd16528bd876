import { type Attributes, type AttributeValue, NO_ATTRIBUTES } from './attributes.ts';
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
  #all: Attributes = NO_ATTRIBUTES;
  #at: Uint8Array = new Uint8Array();
  #startedAt: Uint8Array = new Uint8Array();
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

  beginMonitor(attributes: Attributes, startedAt: number): void {
    this.#all = attributes;
    this.#startedAt = encodedTime(startedAt);
  }

  sum(metric: MetricKey, own: Attributes, value: number): void {
    const writer = this.#point(metric, own, ATTRIBUTES.number, 2 * EIGHT_WITH_TAG);
    writer.eight(START, this.#startedAt);
    writer.fixed64(6, value);
  }

  gauge(metric: MetricKey, own: Attributes, value: number): void {
    this.#point(metric, own, ATTRIBUTES.number, EIGHT_WITH_TAG).double(4, value);
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
    const attributes = fieldsOf(resource, 1);
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
    for (let place = start; place < end; place += 1)
      writer.rawVarint(histograms.blocks.buckets[place] as number);
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
    const field = histograms.kind === 'exponential' ? ATTRIBUTES.exponentialHistogram : ATTRIBUTES.histogram;
    const writer = this.#point(metric, own, field, 3 * EIGHT_WITH_TAG + more);
    writer.eight(START, this.#startedAt);
    writer.fixed64(COUNT, histograms.counts[at] as number);
    writer.double(SUM, (histograms.sums[at] as number) / NS_PER_S);
    return writer;
  }

  /**
   * Begins a point with its attributes and its time.
   *
   * @param field of the attributes
   * @param more  bytes of the point that follow
   */
  #point(metric: MetricKey, own: Attributes, field: number, more: number): ProtobufWriter {
    const writer = this.#byMetric[metric];
    const monitors = fieldsOf(this.#all, field);
    const owns = fieldsOf(own, field);
    writer.begin(1, monitors.length + owns.length + EIGHT_WITH_TAG + more);
    writer.raw(monitors);
    writer.raw(owns);
    writer.eight(TIME, this.#at);
    this.points += 1;
    return writer;
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
  let length = 0;
  for (let place = start; place < end; place += 1)
    length += varintLength(histograms.blocks.buckets[place] as number);
  return length;
}

function written(write: (writer: ProtobufWriter) => void): Uint8Array {
  const writer = new ProtobufWriter();
  write(writer);
  return writer.written();
}

/** The attributes as fields with this number. */
function fieldsOf(attributes: Attributes, field: number): Uint8Array {
  const known = attributes.protobuf.get(field);
  if (known !== undefined) return known;
  const bytes = written((writer) => {
    for (const [name, value] of attributes.list) writer.bytes(field, keyValue(name, value));
  }).slice();
  attributes.protobuf.set(field, bytes);
  return bytes;
}

function keyValue(name: string, value: AttributeValue): Uint8Array {
  return written((writer) => {
    writer.text(1, name);
    writer.bytes(
      2,
      written((any) => writeValue(any, value)),
    );
  });
}

function writeValue(writer: ProtobufWriter, value: AttributeValue): void {
  if (typeof value === 'string') writer.text(1, value);
  else if (typeof value === 'boolean') writer.varint(2, Number(value));
  else writer.varint(3, value);
}
