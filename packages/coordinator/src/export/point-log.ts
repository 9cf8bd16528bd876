import type { AttributeList, Attributes } from './attributes.ts';
import { type HistogramKind, Histograms } from './histograms.ts';
import { METRIC_KEYS, type MetricKey } from './metrics.ts';
import { ProtobufWriter, unzigzag, zigzag } from './protobuf-writer.ts';
import type { RequestEncoder, RequestFrame } from './request-encoder.ts';

/*
 * A log is its instant (double) and its entries. The first byte of an entry is 0 for a monitor, or the kind of a point and the
 * place of its metric. A monitor is its start (double) and its attributes, as JSON. A point is the place of its own
 * attributes and its numbers. Places mean nothing to another thread: a log never leaves its own.
 */
const MONITOR = 0;
const SUM = 1;
const GAUGE = 2;
const HISTOGRAM = 3;
/** The metrics are fewer. */
const PER_KIND = 16;

/**
 * Bytes in JSON, at most: of a point beside its attributes, of what a histogram has more beside its buckets, of what is around an
 * attribute, of a byte of buckets here.
 */
const JSON_POINT_BYTES = 170;
const JSON_HISTOGRAM_BYTES = 170;
const JSON_ATTRIBUTE_BYTES = 40;
const JSON_PER_BUCKET_BYTE = 6;

/** Attributes that points share, and what they take in JSON. There are few of them: `RegionAttributes` keeps them for good. */
const OWN: { readonly attributes: Attributes; readonly bytes: number }[] = [];
const PLACES = new Map<Attributes, number>();

/**
 * Notes the points of a request that cannot be sent now, instead of encoding it. That takes a fifth of the time, and needs no
 * encoding yet. Most of these requests are never sent. {@link encodeLog} makes the request.
 */
export class PointLog implements RequestEncoder {
  points = 0;
  /** Of the request in JSON, at most. */
  bytes = 0;
  readonly #writer = new ProtobufWriter();
  #attributesBytes = 0;

  constructor(frame: RequestFrame) {
    this.begin(frame);
  }

  begin({ at }: RequestFrame): void {
    this.points = 0;
    this.bytes = 0;
    this.#writer.clear();
    this.#writer.rawDouble(at);
  }

  beginMonitor(attributes: AttributeList, startedAt: number): void {
    const text = Buffer.from(JSON.stringify(attributes));
    const writer = this.#writer;
    writer.byte(MONITOR);
    writer.rawDouble(startedAt);
    writer.rawVarint(text.length);
    writer.raw(text);
    this.#attributesBytes = jsonBytes(text, attributes);
  }

  sum(metric: MetricKey, own: Attributes, value: number): void {
    this.#point(SUM, metric, own).rawVarint(value);
  }

  gauge(metric: MetricKey, own: Attributes, value: number): void {
    this.#point(GAUGE, metric, own).rawDouble(value);
  }

  histogram(metric: MetricKey, own: Attributes, histograms: Histograms, at: number): void {
    const writer = this.#point(HISTOGRAM, metric, own);
    const start = histograms.starts[at] as number;
    const length = histograms.lengths[at] as number;
    writer.rawVarint(histograms.counts[at] as number);
    writer.rawVarint(histograms.sums[at] as number);
    writer.rawVarint(histograms.zeros[at] as number);
    writer.rawVarint(zigzag(histograms.scales[at] as number));
    writer.rawVarint(zigzag(histograms.offsets[at] as number));
    writer.rawVarint(length);
    const before = writer.length;
    writer.rawVarints(histograms.blocks.buckets, start, start + length);
    this.bytes += JSON_HISTOGRAM_BYTES + (writer.length - before) * JSON_PER_BUCKET_BYTE;
  }

  finish(): Uint8Array {
    return this.#writer.written();
  }

  #point(kind: number, metric: MetricKey, own: Attributes): ProtobufWriter {
    const writer = this.#writer;
    const place = placeOf(own);
    writer.byte(kind * PER_KIND + METRIC_KEYS.indexOf(metric));
    writer.rawVarint(place);
    this.points += 1;
    this.bytes += JSON_POINT_BYTES + this.#attributesBytes + (OWN[place]?.bytes ?? 0);
    return writer;
  }
}

/** @param begun answers the encoder of a request whose points are of this instant, epoch ms */
export function encodeLog(
  log: Uint8Array,
  kind: HistogramKind,
  begun: (at: number) => RequestEncoder,
): RequestEncoder {
  const reader = new Reader(log);
  const encoder = begun(reader.double());
  const histograms = new Histograms(kind);
  while (!reader.isAtEnd) {
    const entry = reader.byte();
    if (entry === MONITOR) {
      const startedAt = reader.double();
      encoder.beginMonitor(JSON.parse(reader.text()) as AttributeList, startedAt);
      continue;
    }
    const metric = METRIC_KEYS[entry % PER_KIND] as MetricKey;
    const own = OWN[reader.varint()]?.attributes as Attributes;
    const pointKind = Math.floor(entry / PER_KIND);
    if (pointKind === SUM) encoder.sum(metric, own, reader.varint());
    else if (pointKind === GAUGE) encoder.gauge(metric, own, reader.double());
    else {
      const at = reader.histogram(histograms);
      encoder.histogram(metric, own, histograms, at);
      histograms.remove(at);
    }
  }
  return encoder;
}

function placeOf(own: Attributes): number {
  const known = PLACES.get(own);
  if (known !== undefined) return known;
  PLACES.set(own, OWN.length);
  const bytes = jsonBytes(Buffer.from(JSON.stringify(own.list)), own.list);
  return OWN.push({ attributes: own, bytes }) - 1;
}

function jsonBytes(text: Uint8Array, { length }: AttributeList): number {
  return text.length + length * JSON_ATTRIBUTE_BYTES;
}

/** Reads what the log's writer has written. */
class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#at++] as number;
  }

  double(): number {
    const value = this.#view.getFloat64(this.#at, true);
    this.#at += 8;
    return value;
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  text(): string {
    const length = this.varint();
    const text = Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + this.#at, length).toString();
    this.#at += length;
    return text;
  }

  /** @returns its place */
  histogram(histograms: Histograms): number {
    const [count, sum, zero] = [this.varint(), this.varint(), this.varint()];
    const [scale, offset, length] = [unzigzag(this.varint()), unzigzag(this.varint()), this.varint()];
    const counts = Array.from({ length }, () => this.varint());
    const at = histograms.restore({ count, sum: 0, scale, zero, offset, counts });
    // As it was: seconds would have to be rounded.
    histograms.sums[at] = sum;
    return at;
  }
}
