import { z } from 'zod';
import { belowBase } from '../otlp/endpoint.ts';
import { OTLP_SETTINGS } from '../otlp/settings.ts';
import { Secret } from '../secret.ts';
import { wholeNumber } from '../setting-schemas.ts';
import type { SettingsOf, SettingsTable } from '../settings.ts';

/** OpenTelemetry's variables that only concern what a process reports about itself. */
export const OWN_METRICS_SETTINGS = {
  otelDisabled: {
    name: 'OTEL_SDK_DISABLED',
    description: 'true: nothing is exported because of the variables of OpenTelemetry',
    default: 'false',
    schema: z
      .string()
      .regex(/^(?:true|false)$/i, 'must be true or false')
      .transform((text) => text.toLowerCase() === 'true'),
  },
  otelMetricsExporter: {
    name: 'OTEL_METRICS_EXPORTER',
    description: 'otlp, or none: the same as OTEL_SDK_DISABLED=true',
    default: 'otlp',
    schema: z.enum(['otlp', 'none'], {
      error: 'must be otlp or none: Prometheus reads /metrics, which needs no setting of OpenTelemetry',
    }),
  },
  otlpTimeout: {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    description: "ms until an export of the process's own metrics is given up",
    default: '10000',
    schema: wholeNumber(100, 600_000),
  },
  otlpMetricsTimeout: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT',
    description: 'the same, before the one above',
    schema: wholeNumber(100, 600_000).optional(),
  },
} as const satisfies SettingsTable;

const {
  otlpMetricsEndpoint,
  otlpHeaders,
  otlpMetricsHeaders,
  otlpMetricsProtocol,
  otlpMetricsCompression,
  otlpInterval,
  otlpResource,
  otlpServiceName,
} = OTLP_SETTINGS;

/** The variables of an agent, which exports nothing but its own metrics. */
export const AGENT_OTLP_SETTINGS = {
  otlpEndpoint: {
    ...OTLP_SETTINGS.otlpEndpoint,
    description: "base URL of OTLP over HTTP that the agent's own metrics go to; /v1/metrics is appended",
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
  otlpCompression: { ...OTLP_SETTINGS.otlpCompression, description: 'of exports: gzip or none' },
  otlpMetricsCompression,
  otlpInterval,
  otlpResource,
  otlpServiceName,
  ...OWN_METRICS_SETTINGS,
} as const satisfies SettingsTable;

/** How a process exports its own metrics. */
export type OwnExportSettings = {
  /** The full URL, which may carry a key. */
  readonly url: Secret;
  readonly headers: Secret<Readonly<Record<string, string>>>;
  readonly encoding: 'json' | 'protobuf';
  readonly isCompressed: boolean;
  readonly intervalMs: number;
  /** At most `intervalMs`. */
  readonly timeoutMs: number;
  /** Attributes of the resource that the operator has set; they go before those of the process. */
  readonly resource: readonly (readonly [name: string, value: string])[];
};

type Config = SettingsOf<typeof AGENT_OTLP_SETTINGS>;

/** Whether the operator has turned off what the variables of OpenTelemetry turn on. */
export function isExportOff(config: Pick<Config, 'otelDisabled' | 'otelMetricsExporter'>): boolean {
  return config.otelDisabled || config.otelMetricsExporter === 'none';
}

/**
 * What the variables say; null: own metrics are not exported. What is set for metrics goes before what is set for
 * all signals, as OpenTelemetry's specification says.
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
    timeoutMs: Math.min(config.otlpInterval, config.otlpMetricsTimeout ?? config.otlpTimeout),
    resource: [
      ...config.otlpResource.map(({ key, value }): [string, string] => [key, value]),
      ...(name === undefined ? [] : [['service.name', name] as const]),
    ],
  };
}
