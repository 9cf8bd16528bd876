import { createHash } from 'node:crypto';
import { belowBase, metricsUrlOf } from '@svc/shared/otlp/endpoint.ts';
import { type ExportTls, exportTlsOf, type OTLP_SETTINGS } from '@svc/shared/otlp/otlp-settings.ts';
import { isExportOff } from '@svc/shared/own-metrics/own-metrics-settings.ts';
import type { SettingsOf } from '@svc/shared/settings/environment.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import type { HistogramKind } from './histograms.ts';

export type Encoding = 'json' | 'protobuf';

export type Endpoint = {
  /** The URL that requests are posted to, path included. */
  readonly url: string;
  readonly headers: readonly { readonly key: string; readonly value: string }[];
};

/**
 * Interval at which changed totals are stored, ms. Storing one row of totals costs as much as storing the
 * notes of about thirty results. A start reads the notes of one interval in a second or two.
 */
const SAVE_EVERY_MS = 600_000;
/** Maximum size of the notes that are kept while totals cannot be stored, bytes. */
const MOST_NOTE_BYTES = 512 * 1_024 * 1_024;
/** Default time limit of a request, ms (OpenTelemetry's specification). */
const TIMEOUT_MS = 10_000;

/** The operator's settings for the export of metrics. */
export type ExportSettings = {
  /**
   * The endpoint of monitors that declare no endpoint; null: the
   * operator set none, or switched the export off.
   */
  readonly fallback: Endpoint | null;
  /** The encoding that is tried first. */
  readonly encoding: Encoding;
  readonly isCompressed: boolean;
  readonly histograms: HistogramKind;
  readonly intervalMs: number;
  /** Time limit of one request, ms. */
  readonly timeoutMs: number;
  /**
   * TLS for the operator's own endpoint only. Servers of users must
   * not see the operator's client certificate.
   */
  readonly tls: ExportTls;
  /** Interval at which changed totals are stored, ms. A start reads again the notes that were made since. */
  readonly saveEveryMs: number;
  /** Maximum size of the notes that are kept while totals cannot be stored, bytes. */
  readonly mostNoteBytes: number;
  /** Attributes of the OpenTelemetry resource. */
  readonly resource: readonly (readonly [name: string, value: string])[];
};

type Config = SettingsOf<typeof OTLP_SETTINGS>;

/**
 * Reads the settings. A variable for metrics overrides the variable for all signals (OpenTelemetry's
 * specification).
 *
 * @throws SvcError `bad-settings`: a certificate is set without its key, or the reverse
 */
export function exportSettingsOf(config: Config): ExportSettings {
  const protocol = config.otlpMetricsProtocol ?? config.otlpProtocol;
  return {
    fallback: fallbackOf(config),
    encoding: protocol === 'http/protobuf' ? 'protobuf' : 'json',
    isCompressed: (config.otlpMetricsCompression ?? config.otlpCompression) !== 'none',
    histograms: config.otlpHistograms === 'explicit_bucket_histogram' ? 'explicit' : 'exponential',
    intervalMs: config.otlpInterval,
    timeoutMs: config.otlpMetricsTimeout ?? config.otlpTimeout ?? TIMEOUT_MS,
    tls: exportTlsOf(config),
    saveEveryMs: SAVE_EVERY_MS,
    mostNoteBytes: MOST_NOTE_BYTES,
    resource: resourceOf(config),
  };
}

function fallbackOf(config: Config): ExportSettings['fallback'] {
  if (isExportOff(config)) return null;
  const { otlpEndpoint: base, otlpMetricsEndpoint: full } = config;
  const url = full?.reveal() ?? (base === undefined ? undefined : belowBase(base.reveal()));
  if (url === undefined) return null;
  return { url, headers: (config.otlpMetricsHeaders ?? config.otlpHeaders)?.reveal() ?? [] };
}

function resourceOf({ otlpResource, otlpServiceName }: Config): [string, string][] {
  const attributes = new Map([
    ['service.name', 'svc'],
    ['service.version', VERSION],
    ...otlpResource.map(({ key, value }): [string, string] => [key, value]),
  ]);
  if (otlpServiceName !== undefined) attributes.set('service.name', otlpServiceName);
  return [...attributes];
}

/** The destination of the metrics of some monitors. */
export type ExportTarget = Endpoint & {
  /** Digest of URL, headers and workspace. There is one pipeline for each key. */
  readonly key: string;
  /**
   * The workspace that declares the endpoint; null: the endpoint is the operator's own, which the egress
   * guard does not check.
   */
  readonly workspaceId: number | null;
};

/** The destination of the monitor's metrics; null: the monitor is not exported. */
export function targetOf(monitor: LiveMonitor, settings: ExportSettings): ExportTarget | null {
  const { declaredExport: declared, workspaceId } = monitor;
  if (declared === null) {
    return settings.fallback === null ? null : keyed({ ...settings.fallback, workspaceId: null });
  }
  const headers = Object.entries(declared.headers.reveal()).map(([key, value]) => ({ key, value }));
  return keyed({ url: metricsUrlOf(declared.endpoint.reveal()), headers, workspaceId });
}

/** Adds the key, which does not depend on the order of headers or on the case of their names. */
function keyed(target: Omit<ExportTarget, 'key'>): ExportTarget {
  const headers = target.headers.map(({ key, value }) => [key.toLowerCase(), value]).sort();
  const key = createHash('sha256')
    .update(JSON.stringify([target.workspaceId, target.url, headers]))
    .digest('base64url');
  return { ...target, key };
}
