import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { SvcError } from '../errors.ts';
import { headerValue, outgoingHeaderName } from '../resources/texts.ts';
import type { ClientIdentity } from '../server-trust.ts';
import type { SettingsOf, SettingsTable } from '../settings/environment.ts';
import { certificateFile, commaList, privateKeyFile, wholeNumber } from '../settings/setting-schemas.ts';
import { otlpEndpoint } from './endpoint.ts';

/** Default interval of exports in OpenTelemetry's specification, ms. */
const DEFAULT_INTERVAL_MS = '60000';

const endpoint = z
  .string()
  .superRefine((text, context) => {
    const wrong = otlpEndpoint(text);
    if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
  })
  .optional();

type Pair = { readonly key: string; readonly value: string };

/**
 * The schema of a list of `key=value` pairs, which are separated by commas and have percent-encoded values,
 * as OpenTelemetry's specification defines it.
 *
 * @param readKey returns the key, or null when the text is no key
 */
function pairList(readKey: (text: string) => string | null) {
  return z.string().transform((text, context): Pair[] => {
    const read = text
      .split(',')
      .filter((pair) => pair.trim() !== '')
      .map((pair) => pairIn(pair, readKey));
    const pairs = read.filter((pair) => typeof pair === 'object');
    if (pairs.length === read.length) return pairs;
    context.addIssue({ code: 'custom', message: read.find((pair) => typeof pair === 'string') ?? '' });
    return z.NEVER;
  });
}

/** @returns the pair; a text: the fault, which repeats nothing of the pair */
function pairIn(pair: string, readKey: (text: string) => string | null): Pair | string {
  const at = pair.indexOf('=');
  const key = readKey(pair.slice(0, at).trim());
  const value = decoded(pair.slice(at + 1).trim());
  if (at < 1 || key === '') return 'must be name=value pairs, separated by commas';
  return key === null || value === null
    ? 'has a % that begins no percent-encoded character: write %25'
    : { key, value };
}

/** The decoded text; null when a `%` begins no encoded character. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * Names of headers have no escapes. No message repeats a name or a value, because a user who confuses them
 * has put the secret in the name.
 */
const headers = pairList((name) => name)
  .refine((list) => list.every(({ key }) => outgoingHeaderName(key) === null), {
    error: 'has a name that no header can have, or that the connection sets itself',
  })
  .refine((list) => list.every(({ value }) => headerValue(value) === null), {
    error: 'has a value that a header cannot carry',
  })
  .optional();

/** A schema for values of a closed set. Case is ignored. */
function oneOf<const T extends string>(values: readonly T[], message: string) {
  return z
    .string()
    .transform((text) => text.trim().toLowerCase())
    .pipe(z.enum(values, { error: message }));
}

const protocol = oneOf(
  ['http/json', 'http/protobuf'],
  'must be http/json or http/protobuf: metrics go out over HTTP only, not by gRPC',
).optional();

const compression = oneOf(['gzip', 'none'], 'must be gzip or none').optional();

/**
 * Time-out of an export, ms. SDKs use 0 for no limit, but every time-out of svc has a limit. A test on demand
 * takes up to twice as long.
 */
const timeout = wholeNumber(1, 60_000).optional();

/** Whether the text is `true`. No other text means true (OpenTelemetry's specification, "Boolean Values"). */
const isTrue = z.string().transform((text) => text.trim().toLowerCase() === 'true');

const clientCertificate = certificateFile.transform((certificates) => certificates.join('\n')).optional();

/** OpenTelemetry's own variables, as its specification defines them (read on 2026-11-22). */
export const OTLP_SETTINGS = {
  otlpEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description:
      "base URL of the OTLP endpoint (HTTP) for the process's own metrics and for monitors without an endpoint of their own; /v1/metrics is appended",
    schema: endpoint,
  },
  otlpMetricsEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    description: 'full URL of that endpoint; wins over OTEL_EXPORTER_OTLP_ENDPOINT',
    schema: endpoint,
  },
  otlpHeaders: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    description:
      'headers for that endpoint: name=value pairs, separated by commas, with percent-encoded values',
    schema: headers,
  },
  otlpMetricsHeaders: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    description: 'headers for metrics; they replace OTEL_EXPORTER_OTLP_HEADERS',
    schema: headers,
  },
  otlpProtocol: {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    description:
      'encoding of own metrics, and the first encoding that is tried for metrics of monitors: http/json or http/protobuf',
    defaultShown:
      'http/protobuf for own metrics; for metrics of monitors http/json, then http/protobuf if the endpoint refuses that',
    schema: protocol,
  },
  otlpMetricsProtocol: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL',
    description: 'encoding of metrics; wins over OTEL_EXPORTER_OTLP_PROTOCOL',
    schema: protocol,
  },
  otlpCompression: {
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    description: 'compression of all exports: gzip or none',
    defaultShown: 'gzip',
    schema: compression,
  },
  otlpMetricsCompression: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_COMPRESSION',
    description: 'compression of metrics; wins over OTEL_EXPORTER_OTLP_COMPRESSION',
    schema: compression,
  },
  otlpTimeout: {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    description: 'time limit of one request to any endpoint, ms',
    defaultShown: '10000',
    schema: timeout,
  },
  otlpMetricsTimeout: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT',
    description: 'time limit for metrics; wins over OTEL_EXPORTER_OTLP_TIMEOUT',
    schema: timeout,
  },
  otlpCertificate: {
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    description:
      'path of a PEM file with further authorities that are trusted for this endpoint, in addition to the authorities of SVC_PROBE_CA',
    schema: certificateFile.optional(),
  },
  otlpMetricsCertificate: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE',
    description: 'authorities for metrics; they replace OTEL_EXPORTER_OTLP_CERTIFICATE',
    schema: certificateFile.optional(),
  },
  otlpClientCertificate: {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    description: 'path of a PEM file with the client certificate for this endpoint',
    schema: clientCertificate,
  },
  otlpMetricsClientCertificate: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE',
    description: 'client certificate for metrics; wins over OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    schema: clientCertificate,
  },
  otlpClientKey: {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    description: 'path of a PEM file with the key of that certificate',
    schema: privateKeyFile.optional(),
  },
  otlpMetricsClientKey: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY',
    description: 'key of the client certificate for metrics; wins over OTEL_EXPORTER_OTLP_CLIENT_KEY',
    schema: privateKeyFile.optional(),
  },
  otlpDisabled: {
    name: 'OTEL_SDK_DISABLED',
    description:
      'true: svc sends nothing to the endpoint of these settings. Endpoints of monitors are not affected',
    default: 'false',
    schema: isTrue,
  },
  otlpExporters: {
    name: 'OTEL_METRICS_EXPORTER',
    description:
      'exporters, separated by commas. A list without otlp, such as none, has the effect of OTEL_SDK_DISABLED=true',
    default: 'otlp',
    schema: commaList,
  },
  otlpHistograms: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION',
    description:
      'buckets of exported durations: base2_exponential_bucket_histogram or explicit_bucket_histogram; a change starts new histograms',
    default: 'base2_exponential_bucket_histogram',
    schema: oneOf(
      ['base2_exponential_bucket_histogram', 'explicit_bucket_histogram'],
      'must be base2_exponential_bucket_histogram or explicit_bucket_histogram',
    ),
  },
  otlpInterval: {
    name: 'OTEL_METRIC_EXPORT_INTERVAL',
    description: 'time between two exports, ms',
    default: DEFAULT_INTERVAL_MS,
    schema: wholeNumber(1_000, 86_400_000),
  },
  otlpResource: {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    description:
      'attributes of the resource of all exports: name=value pairs, separated by commas, with percent-encoded names and values',
    default: '',
    schema: pairList(decoded),
  },
  otlpServiceName: {
    name: 'OTEL_SERVICE_NAME',
    description: 'service.name of all exports',
    defaultShown: 'that of OTEL_RESOURCE_ATTRIBUTES, else svc',
    schema: z.string().optional(),
  },
} as const satisfies SettingsTable;

/** The TLS settings for the endpoint of OpenTelemetry's variables. */
export type ExportTls = {
  /** Authorities in PEM. They are trusted in addition to the authorities that all connections trust. */
  readonly ca: readonly string[];
  /** The client certificate for the endpoint; null: none is sent. */
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
 * Returns the certificates and the key that the settings name. A variable for metrics has precedence over the
 * variable for all signals, as OpenTelemetry's specification says.
 *
 * @throws SvcError `bad-settings`: only the certificate or only the key is set, or the key does not belong to
 *   the certificate
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

/** Why {@link exportTlsOf} refuses the settings; null when it accepts them. */
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

/**
 * Whether the key belongs to the certificate.
 *
 * @param cert PEM, the client's certificate first
 */
function isPair(cert: string, key: ClientIdentity['key']): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key.reveal()));
}
