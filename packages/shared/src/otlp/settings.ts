import { z } from 'zod';
import { headerValue, outgoingHeaderName } from '../resources/texts.ts';
import { certificateFile, commaList, privateKeyFile, wholeNumber } from '../setting-schemas.ts';
import type { SettingsTable } from '../settings.ts';
import { unescapePercent } from '../user-info.ts';
import { otlpEndpoint } from './endpoint.ts';

/** OpenTelemetry's: a request a minute. */
const DEFAULT_INTERVAL_MS = '60000';

const endpoint = z
  .string()
  .superRefine((text, context) => {
    const wrong = otlpEndpoint(text);
    if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
  })
  .optional();

/** `key=value` pairs between commas, with percent-encoded values (W3C Baggage, as OpenTelemetry's specification says). */
function pairs(text: string): { key: string; value: string }[] | null {
  const found = text.split(',').filter((pair) => pair.trim() !== '');
  const read = found.map((pair) => {
    const at = pair.indexOf('=');
    return { key: pair.slice(0, at).trim(), value: unescapePercent(pair.slice(at + 1).trim()), at };
  });
  return read.some(({ at, key }) => at < 1 || key === '')
    ? null
    : read.map(({ key, value }) => ({ key, value }));
}

const pairList = z.string().transform((text, context) => {
  const read = pairs(text);
  if (read !== null) return read;
  context.addIssue({ code: 'custom', message: 'must be name=value pairs between commas' });
  return z.NEVER;
});

/** No message repeats a name or a value: whoever mistakes one for the other has put the secret there. */
const headers = pairList
  .refine((list) => list.every(({ key }) => outgoingHeaderName(key) === null), {
    error: 'has a name that is none of a header, or of one that the connection sets itself',
  })
  .refine((list) => list.every(({ value }) => headerValue(value) === null), {
    error: 'has a value that a header cannot carry',
  })
  .optional();

/** Values of a closed set, whose case means nothing. */
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

/** ms. The exporter of an SDK takes 0 for no limit, which nothing here has. A test on demand waits twice as long. */
const timeout = wholeNumber(1, 60_000).optional();

/** Only `true` is true (OpenTelemetry's specification, "Boolean Values"). */
const isTrue = z.string().transform((text) => text.trim().toLowerCase() === 'true');

const clientCertificate = certificateFile.transform((certificates) => certificates.join('\n')).optional();

/** OpenTelemetry's own variables, as its specification has them (read on 2026-11-22). */
export const OTLP_SETTINGS = {
  otlpEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description:
      "base URL of OTLP over HTTP that the process's own metrics go to, and those of monitors without an endpoint of their own; /v1/metrics is appended",
    schema: endpoint,
  },
  otlpMetricsEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    description: 'the same as a full URL, before the one above',
    schema: endpoint,
  },
  otlpHeaders: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    description: 'headers sent there, name=value pairs between commas, values percent-encoded',
    schema: headers,
  },
  otlpMetricsHeaders: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    description: 'the same for metrics only, in place of those above',
    schema: headers,
  },
  otlpProtocol: {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    description:
      'encoding of own metrics, and the one that is tried first for those of monitors: http/json or http/protobuf',
    defaultShown:
      'http/protobuf for own metrics; for those of monitors http/json, then http/protobuf where that is refused',
    schema: protocol,
  },
  otlpMetricsProtocol: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL',
    description: 'the same, before the one above',
    schema: protocol,
  },
  otlpCompression: {
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    description: 'of all exports: gzip or none',
    defaultShown: 'gzip',
    schema: compression,
  },
  otlpMetricsCompression: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_COMPRESSION',
    description: 'the same, before the one above',
    schema: compression,
  },
  otlpTimeout: {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    description: 'time limit of one request of an export, ms, for all endpoints',
    defaultShown: '10000',
    schema: timeout,
  },
  otlpMetricsTimeout: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT',
    description: 'the same, before the one above',
    schema: timeout,
  },
  otlpCertificate: {
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    description:
      'path of a PEM file with further authorities that the endpoint of these settings is trusted by, beside those of SVC_PROBE_CA',
    schema: certificateFile.optional(),
  },
  otlpMetricsCertificate: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE',
    description: 'the same, in place of the one above',
    schema: certificateFile.optional(),
  },
  otlpClientCertificate: {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    description: 'path of a PEM file with the certificate that the endpoint of these settings is shown',
    schema: clientCertificate,
  },
  otlpMetricsClientCertificate: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE',
    description: 'the same, before the one above',
    schema: clientCertificate,
  },
  otlpClientKey: {
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    description: 'path of a PEM file with the key of that certificate',
    schema: privateKeyFile.optional(),
  },
  otlpMetricsClientKey: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY',
    description: 'the same, before the one above',
    schema: privateKeyFile.optional(),
  },
  otlpDisabled: {
    name: 'OTEL_SDK_DISABLED',
    description:
      'true: nothing goes to the endpoint of these settings. Endpoints of monitors are not concerned',
    default: 'false',
    schema: isTrue,
  },
  otlpExporters: {
    name: 'OTEL_METRICS_EXPORTER',
    description:
      'without otlp among its values between commas, like none: the same as OTEL_SDK_DISABLED=true',
    default: 'otlp',
    schema: commaList,
  },
  otlpHistograms: {
    name: 'OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION',
    description:
      'buckets of exported durations: base2_exponential_bucket_histogram or explicit_bucket_histogram; a change begins them anew',
    default: 'base2_exponential_bucket_histogram',
    schema: oneOf(
      ['base2_exponential_bucket_histogram', 'explicit_bucket_histogram'],
      'must be base2_exponential_bucket_histogram or explicit_bucket_histogram',
    ),
  },
  otlpInterval: {
    name: 'OTEL_METRIC_EXPORT_INTERVAL',
    description: 'ms between two exports',
    default: DEFAULT_INTERVAL_MS,
    schema: wholeNumber(1_000, 86_400_000),
  },
  otlpResource: {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    description: 'attributes of the resource of all exports, name=value pairs between commas',
    default: '',
    schema: pairList,
  },
  otlpServiceName: {
    name: 'OTEL_SERVICE_NAME',
    description: 'service.name of all exports',
    defaultShown: 'that of OTEL_RESOURCE_ATTRIBUTES, else svc',
    schema: z.string().optional(),
  },
} as const satisfies SettingsTable;
