import { join } from 'node:path';
import { NATS_SETTINGS } from '@svc/shared/nats/nats-settings.ts';
import { OTLP_SETTINGS } from '@svc/shared/otlp/otlp-settings.ts';
import { NO_PROXY_SETTINGS, proxyUrl } from '@svc/shared/proxy/proxy.ts';
import { Secret } from '@svc/shared/secret.ts';
import {
  checkSharedSettings,
  PROCESS_SETTINGS,
  TRUST_SETTINGS,
} from '@svc/shared/settings/common-settings.ts';
import type { SettingsCheck, SettingsOf, SettingsTable } from '@svc/shared/settings/environment.ts';
import { OWN_REGIONS_SETTING } from '@svc/shared/settings/own-regions.ts';
import {
  bearerToken,
  cidrList,
  duration,
  hostList,
  listenAddress,
  onOff,
  urlOf,
  wholeNumber,
} from '@svc/shared/settings/setting-schemas.ts';
import { z } from 'zod';
import { CHANNEL_OPERATOR_SETTINGS } from './alerts/registry.ts';
import { operatorTokens } from './operator-tokens.ts';
import { isGreeting } from './outgoing/smtp/session.ts';
import { MOST_SHARDS } from './verdict/shard.ts';

const GIBIBYTE = 1024 ** 3;

const optionalText = z.string().optional();

const secretKey = z
  .string()
  .refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64');

const greeting = z
  .string()
  .refine(isGreeting, 'must be a domain of letters, digits and hyphens, or an address in brackets');

/** All settings of the coordinator, including the settings that kinds of channels read. */
export const COORDINATOR_SETTINGS = {
  listen: {
    name: 'SVC_LISTEN',
    description: 'address that the API listens on',
    default: '127.0.0.1:8080',
    schema: listenAddress,
  },
  tlsCert: {
    name: 'SVC_TLS_CERT',
    description: "PEM file of the API's certificate with its chain; it is read again when it changes",
    schema: optionalText,
  },
  tlsKey: {
    name: 'SVC_TLS_KEY',
    description: 'PEM file of the key of the certificate in SVC_TLS_CERT',
    schema: optionalText,
  },
  publicUrl: {
    name: 'SVC_PUBLIC_URL',
    description:
      'address under which people reach the coordinator; links use it. Set it when a proxy on the same machine passes on the host of a request: over loopback, the coordinator answers only this host, local names and domains of status pages, whatever SVC_LISTEN is',
    defaultShown: 'http://<listen>, with TLS https://<listen>',
    schema: urlOf(['http:', 'https:']).optional(),
  },
  trustedProxies: {
    name: 'SVC_TRUSTED_PROXIES',
    description:
      'CIDRs of the proxies in front of the API. The audit trail and the limit of failed requests take the sender of a request from the X-Forwarded-For of these proxies',
    default: '',
    schema: cidrList,
  },
  dataDir: {
    name: 'SVC_DATA_DIR',
    description: 'folder of the SQLite file and of generated secrets',
    default: './data',
    schema: z.string(),
  },
  databaseUrl: {
    name: 'SVC_DATABASE_URL',
    description:
      'database: sqlite:<path>, or postgres://<user>:<password>@<host>:<port>/<database> for PostgreSQL 15 to 18',
    defaultShown: 'sqlite:<data>/svc.db',
    schema: z
      .string()
      .regex(/^(?:sqlite:.+|postgres(?:ql)?:\/\/.+)/, 'must be sqlite:<path> or postgres://…')
      .optional(),
  },
  shards: {
    name: 'SVC_SHARDS',
    description: `number of shards of the monitors, 1 to ${MOST_SHARDS}, of which each coordinator leads some. More than 1 needs PostgreSQL. Once there are monitors, only "svc shards" changes the number`,
    defaultShown: 'what the database has: 1 if it is new',
    schema: wholeNumber(1, MOST_SHARDS).optional(),
  },
  ...OWN_REGIONS_SETTING,
  ...NATS_SETTINGS,
  apiToken: {
    name: 'SVC_API_TOKEN',
    description:
      'first API token (scope admin). Two tokens in two lines are both valid. The file is read again when it changes',
    defaultShown: 'generated, kept in the data folder',
    schema: operatorTokens.optional(),
  },
  secretKey: {
    name: 'SVC_SECRET_KEY',
    description: '32 bytes in base64 that encrypt stored secrets',
    defaultShown: 'generated, kept in the data folder',
    schema: secretKey.optional(),
  },
  previousSecretKey: {
    name: 'SVC_SECRET_KEY_PREVIOUS',
    description:
      'the previous key, while SVC_SECRET_KEY replaces it: a start with both encrypts everything with the new key',
    defaultShown: 'secret-key-previous in the data folder, if that file exists and SVC_SECRET_KEY is not set',
    schema: secretKey.optional(),
  },
  config: {
    name: 'SVC_CONFIG',
    description:
      'path of the declared file. none, or unset: the resources that a file declared stay, and the API may change them',
    schema: z
      .string()
      .transform((path) => (path === 'none' ? undefined : path))
      .optional(),
  },
  allowsDelete: {
    name: 'SVC_CONFIG_ALLOW_DELETE',
    description: '1 allows the declared file to delete more than half of its resources',
    default: '0',
    schema: onOff,
  },
  channelEgressAllow: {
    name: 'SVC_CHANNEL_EGRESS_ALLOW',
    description: 'private CIDRs that channel URLs and OTLP endpoints of monitors may reach',
    default: '',
    schema: cidrList,
  },
  chatHosts: {
    name: 'SVC_CHAT_HOSTS',
    description:
      "hosts that chat channels may post to in addition to their vendors' hosts, separated by commas; * for any",
    default: '',
    schema: hostList,
  },
  ...TRUST_SETTINGS,
  channelProxy: {
    name: 'SVC_CHANNEL_PROXY',
    description:
      'HTTP proxy for alerts and exports: http://[user:password@]host:port. The proxy resolves the names of receivers',
    schema: proxyUrl,
  },
  ...NO_PROXY_SETTINGS,
  deadmanUrl: {
    name: 'SVC_DEADMAN_URL',
    description:
      'address that svc calls with GET each minute while it gives out checks and records their results. A service for cron jobs behind it tells you when the calls stop',
    schema: urlOf(['https:', 'http:']).optional(),
  },
  ...OTLP_SETTINGS,
  ...CHANNEL_OPERATOR_SETTINGS,
  mailHelo: {
    name: 'SVC_MAIL_HELO',
    description: 'name that svc greets the SMTP server with: a domain, or an address like [192.0.2.1]',
    defaultShown: "the machine's name where it is a domain, else the address that the connection leaves from",
    schema: greeting.optional(),
  },
  retentionDays: {
    name: 'SVC_RESULT_RETENTION_DAYS',
    description: 'number of days that single results are kept',
    default: '14',
    schema: wholeNumber(1, 3_650),
  },
  resultsMaxBytes: {
    name: 'SVC_RESULTS_MAX_BYTES',
    description:
      'largest size of the results that NATS keeps until five minutes after they are recorded, bytes',
    default: String(2 * GIBIBYTE),
    schema: wholeNumber(16 * 1024 ** 2, 1_024 * GIBIBYTE),
  },
  regionNoticeAfterMs: {
    name: 'SVC_REGION_NOTICE_AFTER',
    description:
      'for how long a region must fail alone, while the status of the monitor stays active, before the channels of the monitor are told: a number with s, m, h or d, 1m to 30d',
    default: '30m',
    schema: duration('1m', '30d'),
  },
  metricsToken: {
    name: 'SVC_METRICS_TOKEN',
    description: 'bearer token that /metrics requires',
    schema: bearerToken.optional(),
  },
  ...PROCESS_SETTINGS,
} as const satisfies SettingsTable;

export type CoordinatorConfig = SettingsOf<typeof COORDINATOR_SETTINGS>;

/** Checks the rules that concern several settings at once. */
export const checkCoordinatorSettings: SettingsCheck<CoordinatorConfig> = (config) => {
  const { problems, warnings } = checkSharedSettings(config);
  const isHalf = (config.tlsCert === undefined) !== (config.tlsKey === undefined);
  const half = 'SVC_TLS_CERT and SVC_TLS_KEY belong together: set both or neither';
  const isSplit = (config.shards ?? 1) > 1 && databaseFileOf(config.databaseUrl, config.dataDir) !== null;
  const split =
    'SVC_SHARDS above 1 needs PostgreSQL: set SVC_DATABASE_URL to postgres://…, or leave SVC_SHARDS out';
  return {
    problems: [...problems, ...(isHalf ? [half] : []), ...(isSplit ? [split] : [])],
    warnings,
  };
};

/** URL of the database: `SVC_DATABASE_URL`, or the URL of a SQLite file in the data folder. */
export function databaseOf(databaseUrl: Secret | undefined, dataDir: string): Secret {
  return databaseUrl ?? new Secret(`sqlite:${join(dataDir, 'svc.db')}`);
}

/** Path of the SQLite file; null: the database is PostgreSQL. */
export function databaseFileOf(databaseUrl: Secret | undefined, dataDir: string): string | null {
  const url = databaseOf(databaseUrl, dataDir).reveal();
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : null;
}
