import type { Attributes, AttributeValue } from './attributes.ts';
import { EXPLICIT_BOUNDS, type HistogramData } from './histogram.ts';
import { EXPORTED_METRICS, METRIC_KEYS, type MetricKey, memberOf } from './metrics.ts';
import { encodedTime, ProtobufWriter } from './protobuf-writer.ts';
import type { PointAttributes, RequestEncoder, RequestFrame } from './request-encoder.ts';

const CUMULATIVE = 2;

/*
 * Numbers of fields in opentelemetry/proto/metrics/v1/metrics.proto, common.proto and resource.proto (1.10).
 */
const START = 2;
const TIME = 3;
const COUNT = 4;
const SUM = 5;
const MEMBER_FIELD = { gauge: 5, sum: 7, histogram: 9, exponentialHistogram: 10 } as const;

/** The binary form of OTLP. */
export class ProtobufEncoder implements RequestEncoder {
  points = 0;
  #frame: RequestFrame;
  #at: Uint8Array = new Uint8Array();
  #startedAt: Uint8Array = new Uint8Array();
  readonly #byMetric = new Map(METRIC_KEYS.map((key) => [key, new ProtobufWriter()]));
  readonly #point = new ProtobufWriter();
  readonly #nested = new ProtobufWriter();
  readonly #packed = new ProtobufWriter();

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
    this.#at = encodedTime(frame.at);
    for (const points of this.#byMetric.values()) points.clear();
  }

  startAt(startedAt: number): void {
    this.#startedAt = encodedTime(startedAt);
  }

  sum(metric: MetricKey, attributes: PointAttributes, value: number): void {
    const point = this.#begin(attributes, 7);
    point.eight(START, this.#startedAt);
    point.fixed64(6, value);
    this.#end(metric);
  }

  gauge(metric: MetricKey, attributes: PointAttributes, value: number): void {
    this.#begin(attributes, 7).double(4, value);
    this.#end(metric);
  }

  histogram(metric: MetricKey, attributes: PointAttributes, data: HistogramData): void {
    const isExponential = data.scale !== null;
    const point = this.#begin(attributes, isExponential ? 1 : 9);
    point.eight(START, this.#startedAt);
    point.fixed64(COUNT, data.count);
    point.double(SUM, data.sum);
    if (isExponential) this.#exponential(data);
    else this.#explicit(data);
    const [min, max] = isExponential ? [12, 13] : [11, 12];
    if (data.min !== null && data.max !== null) {
      point.double(min, data.min);
      point.double(max, data.max);
    }
    this.#end(metric);
  }

  finish(): Uint8Array {
    const { resource, scope } = this.#frame;
    const named = written((writer) => {
      writer.text(1, scope.name);
      writer.text(2, scope.version);
    });
    const scopeMetrics = written((writer) => {
      writer.bytes(1, named);
      for (const key of METRIC_KEYS) {
        const points = this.#of(key);
        if (points.length > 0) writer.bytes(2, this.#metric(key, points));
      }
    });
    const attributes = fieldsOf(resource, 1);
    const resourceMetrics = written((writer) => {
      writer.bytes(1, attributes);
      writer.bytes(2, scopeMetrics);
    });
    return written((writer) => writer.bytes(1, resourceMetrics));
  }

  #exponential({ scale, zero, offset, counts }: HistogramData): void {
    this.#point.zigzag(6, scale ?? 0);
    this.#point.fixed64(7, zero);
    this.#packed.clear();
    for (const count of counts) this.#packed.rawVarint(count);
    this.#nested.clear();
    this.#nested.zigzag(1, offset);
    this.#nested.bytes(2, this.#packed.written());
    this.#point.bytes(8, this.#nested.written());
  }

  #explicit({ counts }: HistogramData): void {
    this.#nested.clear();
    for (const count of counts) this.#nested.rawFixed64(count);
    this.#point.bytes(6, this.#nested.written());
    this.#nested.clear();
    for (const bound of EXPLICIT_BOUNDS) this.#nested.rawDouble(bound);
    this.#point.bytes(7, this.#nested.written());
  }

  /** @param field of the attributes, which differs between kinds of points */
  #begin({ all, own }: PointAttributes, field: number): ProtobufWriter {
    this.#point.clear();
    this.#point.raw(fieldsOf(all, field));
    this.#point.raw(fieldsOf(own, field));
    this.#point.eight(TIME, this.#at);
    return this.#point;
  }

  #end(metric: MetricKey): void {
    this.#of(metric).bytes(1, this.#point.written());
    this.points += 1;
  }

  #of(metric: MetricKey): ProtobufWriter {
    return this.#byMetric.get(metric) as ProtobufWriter;
  }

  #metric(key: MetricKey, points: ProtobufWriter): Uint8Array {
    const metric = EXPORTED_METRICS[key];
    if (metric.kind !== 'gauge') points.varint(2, CUMULATIVE);
    if (metric.kind === 'sum') points.varint(3, 1);
    return written((writer) => {
      writer.text(1, metric.name);
      writer.text(2, metric.description);
      writer.text(3, metric.unit);
      writer.bytes(MEMBER_FIELD[memberOf(metric, this.#frame.histograms)], points.written());
    });
  }
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
