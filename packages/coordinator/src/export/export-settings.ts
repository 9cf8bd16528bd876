import { createPrivateKey, X509Certificate } from 'node:crypto';
import { SvcError } from '@svc/shared/errors.ts';
import { belowBase } from '@svc/shared/otlp/endpoint.ts';
import { isExportOff, type OTLP_SETTINGS, OTLP_TIMEOUT_MS } from '@svc/shared/otlp/settings.ts';
import type { SettingsOf } from '@svc/shared/settings.ts';
import type { ClientIdentity } from '@svc/shared/trusted-authorities.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { HistogramKind } from './histograms.ts';
import type { ExportTarget } from './pipeline.ts';
import type { Encoding } from './request-encoder.ts';

/** A row of totals costs as much as the notes of some thirty results, which a start reads in a second or two. */
const SAVE_EVERY_MS = 600_000;

/** What the operator has set about exports. */
export type ExportSettings = {
  /** Where monitors without an endpoint of their own are exported to; null: nowhere. */
  readonly fallback: Pick<ExportTarget, 'url' | 'headers'> | null;
  /** That is tried first. */
  readonly encoding: Encoding;
  readonly isCompressed: boolean;
  readonly histograms: HistogramKind;
  readonly intervalMs: number;
  /** Of one request, ms. */
  readonly timeoutMs: number;
  /** For the operator's own endpoint only. */
  readonly tls: ExportTls;
  /** Between two times that totals are stored, ms: a start reads the notes since then again. */
  readonly saveEveryMs: number;
  /** Attributes of the resource. */
  readonly resource: readonly (readonly [name: string, value: string])[];
};

export type ExportTls = {
  /** PEM, beside what all connections trust. */
  readonly ca: readonly string[];
  /** Null: the endpoint is shown no certificate. */
  readonly identity: ClientIdentity | null;
};

type Config = SettingsOf<typeof OTLP_SETTINGS>;

/**
 * What is set for metrics goes before what is set for all signals, as OpenTelemetry's specification says.
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
    timeoutMs: config.otlpMetricsTimeout ?? config.otlpTimeout ?? OTLP_TIMEOUT_MS,
    tls: { ca: config.otlpMetricsCertificate ?? config.otlpCertificate ?? [], identity: identityOf(config) },
    saveEveryMs: SAVE_EVERY_MS,
    resource: resourceOf(config),
  };
}

function fallbackOf(config: Config): ExportSettings['fallback'] {
  const { otlpEndpoint: base, otlpMetricsEndpoint: full } = config;
  if (isExportOff(config)) return null;
  const url = full?.reveal() ?? (base === undefined ? undefined : belowBase(base.reveal()));
  if (url === undefined) return null;
  return { url, headers: (config.otlpMetricsHeaders ?? config.otlpHeaders)?.reveal() ?? [] };
}

function identityOf(config: Config): ClientIdentity | null {
  const cert = config.otlpMetricsClientCertificate ?? config.otlpClientCertificate;
  const key = config.otlpMetricsClientKey ?? config.otlpClientKey;
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined || !isPair(cert, key))
    throw new SvcError(
      'bad-settings',
      'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY belong together: set both, the key to that of the certificate, or neither',
    );
  return { cert, key };
}

/** @param cert PEM, that of the client first */
function isPair(cert: string, key: ClientIdentity['key']): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key.reveal()));
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
