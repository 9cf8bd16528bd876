import { createPrivateKey, X509Certificate } from 'node:crypto';
import { SvcError } from '../errors.ts';
import type { SettingsOf } from '../settings.ts';
import type { ClientIdentity } from '../trusted-authorities.ts';
import type { OTLP_SETTINGS } from './settings.ts';

/** How the endpoint of OpenTelemetry's variables is spoken to. */
export type ExportTls = {
  /** PEM, beside what all connections trust. */
  readonly ca: readonly string[];
  /** Null: the endpoint is shown no certificate. */
  readonly identity: ClientIdentity | null;
};

type Config = Pick<
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
export function exportTlsOf(config: Config): ExportTls {
  return { ca: config.otlpMetricsCertificate ?? config.otlpCertificate ?? [], identity: identityOf(config) };
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
