import { createPrivateKey, X509Certificate } from 'node:crypto';
import { SvcError } from '../errors.ts';
import type { SettingsOf } from '../settings/environment.ts';
import type { ClientIdentity } from '../trusted-authorities.ts';
import type { OTLP_SETTINGS } from './otlp-settings.ts';

/** How the endpoint of OpenTelemetry's variables is spoken to. */
export type ExportTls = {
  /** PEM, beside what all connections trust. */
  readonly ca: readonly string[];
  /** Null: the endpoint is shown no certificate. */
  readonly identity: ClientIdentity | null;
};

export type ExportTlsConfig = Pick<
  SettingsOf<typeof OTLP_SETTINGS>,
  | 'otlpCertificate'
  | 'otlpMetricsCertificate'
  | 'otlpClientCertificate'
  | 'otlpMetricsClientCertificate'
  | 'otlpClientKey'
  | 'otlpMetricsClientKey'
>;

/**
 * The certificates of the settings. A variable for metrics wins over the one for all signals, as
 * OpenTelemetry's specification says.
 *
 * @throws SvcError `bad-settings`: a certificate is set without its key, or the reverse
 */
export function exportTlsOf(config: ExportTlsConfig): ExportTls {
  const problem = exportTlsProblem(config);
  if (problem !== null) throw new SvcError('bad-settings', problem);
  const { cert, key } = halvesOf(config);
  return {
    ca: config.otlpMetricsCertificate ?? config.otlpCertificate ?? [],
    identity: cert === undefined || key === undefined ? null : { cert, key },
  };
}

/** Why {@link exportTlsOf} refuses the settings; null: it does not. */
export function exportTlsProblem(config: ExportTlsConfig): string | null {
  const { cert, key } = halvesOf(config);
  if (cert === undefined && key === undefined) return null;
  if (cert !== undefined && key !== undefined && isPair(cert, key)) return null;
  return 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY belong together: set both, the key to that of the certificate, or neither';
}

function halvesOf(config: ExportTlsConfig): Partial<ClientIdentity> {
  const cert = config.otlpMetricsClientCertificate ?? config.otlpClientCertificate;
  const key = config.otlpMetricsClientKey ?? config.otlpClientKey;
  return { ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
}

/** @param cert PEM, that of the client first */
function isPair(cert: string, key: ClientIdentity['key']): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key.reveal()));
}
