import type { AttributeList, Attributes } from './attributes.ts';
import type { HistogramKind, Histograms } from './histograms.ts';
import type { MetricKey } from './metrics.ts';

/** The members of every request in addition to its points. */
export type RequestFrame = {
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version: string };
  readonly histograms: HistogramKind;
  /** Of all points, epoch ms. */
  readonly at: number;
};

/**
 * Writes one `ExportMetricsServiceRequest` of OTLP, monitor by monitor and point by point. OpenTelemetry's own serializers
 * take 6 to 12 times as long for a point (decision 0253): these write the attributes of a monitor once for all its points,
 * and leave little garbage.
 *
 * `own` are the attributes that a point has beside those of its monitor. They are shared by all monitors, so that what is
 * kept of them is small.
 */
export interface RequestEncoder {
  /** So far. */
  readonly points: number;
  /** Of the body so far, about. */
  readonly bytes: number;
  /** Begins another request: what `finish` has answered is not valid any more. */
  begin(frame: RequestFrame): void;
  /**
   * The points that follow are of this monitor.
   *
   * @param attributes of all its points, at least one
   * @param startedAt  of its sums and histograms, epoch ms
   */
  beginMonitor(attributes: AttributeList, startedAt: number): void;
  /** A monotonic, cumulative sum. */
  sum(metric: MetricKey, own: Attributes, value: number): void;
  gauge(metric: MetricKey, own: Attributes, value: number): void;
  /** @param at place of the histogram */
  histogram(metric: MetricKey, own: Attributes, histograms: Histograms, at: number): void;
  /** The body, valid until the next `begin`. */
  finish(): Uint8Array;
}

export type Encoding = 'json' | 'protobuf';

/** What a collection makes of the points: requests, or logs of points, which are encoded when they can be sent. */
export type CollectedForm = Encoding | 'log';

export const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  protobuf: 'application/x-protobuf',
};
