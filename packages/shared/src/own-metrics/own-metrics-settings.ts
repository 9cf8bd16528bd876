import { belowBase } from '../otlp/endpoint.ts';
import { type ExportTls, exportTlsOf, OTLP_SETTINGS } from '../otlp/otlp-settings.ts';
import { Secret } from '../secret.ts';
import type { SettingsOf, SettingsTable } from '../settings/environment.ts';

const {
  otlpMetricsEndpoint,
  otlpHeaders,
  otlpMetricsHeaders,
  otlpMetricsProtocol,
  otlpMetricsCompression,
  otlpTimeout,
  otlpMetricsTimeout,
  otlpCertificate,
  otlpMetricsCertificate,
  otlpClientCertificate,
  otlpMetricsClientCertificate,
  otlpClientKey,
  otlpMetricsClientKey,
  otlpDisabled,
  otlpExporters,
  otlpInterval,
  otlpResource,
  otlpServiceName,
} = OTLP_SETTINGS;

/** Default time limit of an export in OpenTelemetry's specification, ms. */
const TIMEOUT_MS = 10_000;

/** The variables of an agent, which exports nothing but its own metrics. */
export const AGENT_OTLP_SETTINGS = {
  otlpEndpoint: {
    ...OTLP_SETTINGS.otlpEndpoint,
    description: "base URL of the OTLP endpoint (HTTP) for the agent's own metrics; /v1/metrics is appended",
  },
  otlpMetricsEndpoint,
  otlpHeaders,
  otlpMetricsHeaders,
  otlpProtocol: {
    ...OTLP_SETTINGS.otlpProtocol,
    description: 'encoding of exports: http/json or http/protobuf',
    defaultShown: 'http/protobuf',
  },
  otlpMetricsProtocol,
  otlpCompression: { ...OTLP_SETTINGS.otlpCompression, description: 'compression of exports: gzip or none' },
  otlpMetricsCompression,
  otlpTimeout: { ...otlpTimeout, description: 'time limit of an export, ms' },
  otlpMetricsTimeout,
  otlpCertificate,
  otlpMetricsCertificate,
  otlpClientCertificate,
  otlpMetricsClientCertificate,
  otlpClientKey,
  otlpMetricsClientKey,
  otlpDisabled: { ...otlpDisabled, description: 'true: nothing is exported' },
  otlpExporters,
  otlpInterval,
  otlpResource,
  otlpServiceName,
} as const satisfies SettingsTable;

/** How a process exports its own metrics. */
export type OwnExportSettings = {
  /** The full URL, which may carry a key. */
  readonly url: Secret;
  readonly headers: Secret<Readonly<Record<string, string>>>;
  readonly encoding: 'json' | 'protobuf';
  readonly isCompressed: boolean;
  readonly intervalMs: number;
  /** Time limit of one export, ms; at most `intervalMs`. */
  readonly timeoutMs: number;
  readonly tls: ExportTls;
  /**
   * The attributes that the operator has set for the resource. They override the attributes that the process
   * sets.
   */
  readonly resource: readonly (readonly [name: string, value: string])[];
};

type Config = SettingsOf<typeof AGENT_OTLP_SETTINGS>;

/** Whether the operator has turned off the export that OpenTelemetry's variables turn on. */
export function isExportOff({
  otlpDisabled,
  otlpExporters,
}: Pick<Config, 'otlpDisabled' | 'otlpExporters'>): boolean {
  return otlpDisabled || !otlpExporters.some((name) => name.toLowerCase() === 'otlp');
}

/**
 * The export that the variables ask for; null: own metrics are not exported. A variable for metrics has
 * precedence over the variable for all signals, as OpenTelemetry's specification says.
 *
 * @throws SvcError `bad-settings`: only the certificate or only the key is set, or the key does not belong to
 *   the certificate
 */
export function ownExportOf(config: Config): OwnExportSettings | null {
  const { otlpEndpoint: base, otlpMetricsEndpoint: full } = config;
  const url = full?.reveal() ?? (base === undefined ? undefined : belowBase(base.reveal()));
  if (url === undefined || isExportOff(config)) return null;
  const headers = (config.otlpMetricsHeaders ?? config.otlpHeaders)?.reveal() ?? [];
  const name = config.otlpServiceName;
  return {
    url: new Secret(url),
    headers: new Secret(Object.fromEntries(headers.map(({ key, value }) => [key, value]))),
    encoding: (config.otlpMetricsProtocol ?? config.otlpProtocol) === 'http/json' ? 'json' : 'protobuf',
    isCompressed: (config.otlpMetricsCompression ?? config.otlpCompression) !== 'none',
    intervalMs: config.otlpInterval,
    timeoutMs: Math.min(config.otlpInterval, config.otlpMetricsTimeout ?? config.otlpTimeout ?? TIMEOUT_MS),
    tls: exportTlsOf(config),
    resource: [
      ...config.otlpResource.map(({ key, value }): [string, string] => [key, value]),
      ...(name === undefined ? [] : [['service.name', name] as const]),
    ],
  };
}
