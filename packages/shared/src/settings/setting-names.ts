/**
 * The settings of all parts of svc whose values are not secret. With one list, each part can tell a misspelt
 * name from a setting of another part. The table of a part (see `environment.ts`) can use only names from
 * this list and from {@link SECRET_SETTINGS}.
 */
const PLAIN_SETTINGS = [
  'SVC_LISTEN',
  'SVC_PUBLIC_URL',
  'SVC_TRUSTED_PROXIES',
  'SVC_TLS_CERT',
  'SVC_TLS_KEY',
  'SVC_DATA_DIR',
  'SVC_NATS_CREDS',
  'SVC_NATS_CA',
  'SVC_NATS_ALLOW_PLAIN',
  'SVC_NATS_SERVER',
  'SVC_NATS_DIR',
  'SVC_CONFIG',
  'SVC_CONFIG_ALLOW_DELETE',
  'SVC_REGIONS',
  'SVC_EXTRA_REGIONS',
  'SVC_REFERENCE_HOSTS',
  'SVC_REGION',
  'SVC_AGENT_ID',
  'SVC_CONCURRENCY',
  'SVC_AGENT_LISTEN',
  'SVC_BASE_URL',
  'SVC_TERRAFORM_NODE',
  'SVC_DNS_SERVERS',
  'SVC_PROBE_CA',
  'SVC_PROBE_TLS_GROUPS',
  'NO_PROXY',
  'SVC_EGRESS_DENY',
  'SVC_EGRESS_ALLOW',
  'SVC_CHANNEL_EGRESS_ALLOW',
  'SVC_CHAT_HOSTS',
  'SVC_RESULT_RETENTION_DAYS',
  'SVC_RESULTS_MAX_BYTES',
  'SVC_REGION_NOTICE_AFTER',
  'SVC_SHARDS',
  'SVC_MAIL_FROM',
  'SVC_MAIL_HELO',
  'SVC_TWILIO_ACCOUNT_SID',
  'SVC_TWILIO_SMS_FROM',
  'SVC_TWILIO_WHATSAPP_FROM',
  'SVC_TWILIO_CONTENT_SID_ERROR',
  'SVC_TWILIO_CONTENT_SID_DEGRADED',
  'SVC_TWILIO_CONTENT_SID_RECOVERED',
  'SVC_TWILIO_CONTENT_SID_TEST',
  'SVC_TWILIO_BASE_URL',
  'SVC_TELEGRAM_BASE_URL',
  'SVC_INCIDENT_A_BASE_URL',
  'SVC_INCIDENT_B_US_BASE_URL',
  'SVC_INCIDENT_B_EU_BASE_URL',
  'SVC_PUSH_A_BASE_URL',
  'SVC_LOG_LEVEL',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL',
  'OTEL_EXPORTER_OTLP_COMPRESSION',
  'OTEL_EXPORTER_OTLP_METRICS_COMPRESSION',
  'OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT',
  'OTEL_EXPORTER_OTLP_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_KEY',
  'OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY',
  'OTEL_SDK_DISABLED',
  'OTEL_METRICS_EXPORTER',
  'OTEL_METRIC_EXPORT_INTERVAL',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_SERVICE_NAME',
  // These settings are for svc's own processes, not for operators:
  'SVC_DRAIN_MS',
  'SVC_NATS_ADDRESS',
  'SVC_SUPERVISED',
] as const;

/**
 * Settings whose value may contain a credential, such as a URL with a password. Each can also be given as the
 * path of a file in `<NAME>_FILE`. Its value is a `Secret`, and no message shows it.
 */
const SECRET_SETTINGS = [
  'SVC_API_TOKEN',
  'SVC_SECRET_KEY',
  'SVC_SECRET_KEY_PREVIOUS',
  'SVC_DATABASE_URL',
  'SVC_NATS_URL',
  'SVC_NATS_NKEY',
  'SVC_METRICS_TOKEN',
  'SVC_PROBE_PROXY',
  'SVC_CHANNEL_PROXY',
  'SVC_SMTP_URL',
  'SVC_DEADMAN_URL',
  'SVC_TWILIO_AUTH_TOKEN',
  'SVC_TELEGRAM_BOT_TOKEN',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
] as const;

export type SecretSettingName = (typeof SECRET_SETTINGS)[number];
export type SettingName = (typeof PLAIN_SETTINGS)[number] | SecretSettingName;

const secrets: ReadonlySet<string> = new Set(SECRET_SETTINGS);

export function isSecretSetting(name: SettingName): name is SecretSettingName {
  return secrets.has(name);
}

/** Name of the variable that names a file with the value of a secret setting. */
export function fileVariantOf(name: SettingName): string {
  return `${name}_FILE`;
}

/** The names of all settings, file variants included. */
export const KNOWN_VARIABLES: ReadonlySet<string> = new Set([
  ...PLAIN_SETTINGS,
  ...SECRET_SETTINGS,
  ...SECRET_SETTINGS.map(fileVariantOf),
]);
