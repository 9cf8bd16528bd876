import { DiagLogLevel, diag } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPMetricExporter as JsonExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  PeriodicExportingMetricReader,
  type PushMetricExporter,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { messageOf } from '../errors.ts';
import { ThrottledLog } from '../throttled-log.ts';
import { VERSION } from '../version.ts';
import { Connections } from './connections.ts';
import { ExportLog } from './export-log.ts';
import type { OwnExportSettings } from './own-metrics-settings.ts';
import type { OwnExportParts } from './parts.ts';
import { ownMetricsProducer } from './producer.ts';

const EXPORTERS = { json: JsonExporter, protobuf: ProtobufExporter };

/** A running export. */
export type Reader = {
  /** @param withinMs time for the last export, ms */
  stop(withinMs: number): Promise<void>;
};

/** Starts OpenTelemetry's periodic reader over the registry of this process. */
export function startReader(settings: OwnExportSettings, parts: OwnExportParts): Reader {
  const exportLog = new ExportLog(settings, parts.log);
  const { tls } = settings;
  const connections = new Connections(new URL(settings.url.reveal()), {
    ca: [...parts.ca, ...tls.ca],
    identity: tls.identity,
    proxyFor: parts.proxyFor,
  });
  const exporter = new ReportingExporter({
    exporter: new EXPORTERS[settings.encoding]({
      url: settings.url.reveal(),
      headers: { ...settings.headers.reveal() },
      compression: settings.isCompressed ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
      timeoutMillis: settings.timeoutMs,
      // Only one export runs at a time. One that hangs is cut off, see `ReportingExporter`.
      concurrencyLimit: 1,
      httpAgentOptions: () => connections.agent(),
      userAgent: `svc/${VERSION}`,
    }),
    timeoutMs: settings.timeoutMs,
    cut: () => connections.cut(),
    onResult: (error) => exportLog.ended(error),
  });
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: settings.intervalMs,
    exportTimeoutMillis: settings.timeoutMs,
  });
  listenToWarnings(exportLog, parts);
  reader.setMetricProducer(
    ownMetricsProducer({
      resource: resourceFromAttributes({ ...parts.resource, ...Object.fromEntries(settings.resource) }),
      measurements: parts.measurements,
      now: () => parts.clock.wall(),
    }),
  );
  return {
    async stop(withinMs) {
      try {
        await reader.shutdown({ timeoutMillis: withinMs });
      } catch (error) {
        exportLog.ended(error);
      }
      connections.cut();
      diag.disable();
    },
  };
}

/**
 * Logs the warnings of the SDK, at most one in 10 s. When an endpoint accepts a request but rejects some of
 * its points, the SDK reports this only to its process-wide logger, so a process can have only one export.
 */
function listenToWarnings(exportLog: ExportLog, { log, clock }: OwnExportParts): void {
  const throttled = new ThrottledLog(log, clock);
  const ignore = () => {};
  const warn = (...said: unknown[]) => {
    const warning = exportLog.masked(said.map(messageOf).join(' '));
    throttled.warn('the endpoint took an export of own metrics, with a warning', { warning });
  };
  diag.setLogger(
    { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** Time that the exporter has, after its own time-out, to end by itself, ms. */
const GRACE_MS = 100;

type Parts = {
  readonly exporter: PushMetricExporter;
  readonly timeoutMs: number;
  /** Ends the connections of an export that takes too long. */
  readonly cut: () => void;
  /** Called after each export with its error; null: the endpoint accepted the export. */
  readonly onResult: (error: unknown) => void;
};

/**
 * OpenTelemetry's exporter with two additions: it reports how each export ended, and it ends an export for
 * certain. The exporter's own time-out measures silence, which an endpoint that sends a byte now and then
 * never reaches.
 */
class ReportingExporter implements PushMetricExporter {
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
