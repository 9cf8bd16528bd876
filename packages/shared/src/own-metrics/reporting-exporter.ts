import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { PushMetricExporter, ResourceMetrics } from '@opentelemetry/sdk-metrics';

/** Time that the exporter has to end by itself beyond its own time-out, ms. */
const GRACE_MS = 100;

type Parts = {
  readonly exporter: PushMetricExporter;
  readonly timeoutMs: number;
  /** Ends the connections of an export that takes too long. */
  readonly cut: () => void;
  /** Called after each export; null: it was taken. */
  readonly onResult: (error: unknown) => void;
};

/**
 * OpenTelemetry's exporter, with two things that it lacks: it tells how each export ended, and it ends one for
 * good. Its own time-out is one of silence, which an endpoint that sends a byte now and then never reaches.
 */
export class ReportingExporter implements PushMetricExporter {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  export(metrics: ResourceMetrics, done: (result: ExportResult) => void): void {
    const { exporter, timeoutMs, cut, onResult } = this.#parts;
    const timer = setTimeout(cut, timeoutMs + GRACE_MS).unref();
    exporter.export(metrics, (result) => {
      clearTimeout(timer);
      onResult(result.code === ExportResultCode.SUCCESS ? null : (result.error ?? 'no reason given'));
      done(result);
    });
  }

  forceFlush(): Promise<void> {
    return this.#parts.exporter.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#parts.exporter.shutdown();
  }
}
