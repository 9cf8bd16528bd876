import { z } from 'zod';
import { Secret } from '../secret.ts';
import type { SettingsCheck, SettingsOf, SettingsTable } from '../settings/environment.ts';
import { onOff, orProblem } from '../settings/setting-schemas.ts';
import { natsKeyOf } from './keys.ts';
import type { BusParts } from './nats-bus.ts';
import { parseNatsServers } from './servers.ts';

const optionalText = z.string().optional();

/** The settings with which every process of svc reaches NATS. */
export const NATS_SETTINGS = {
  natsUrl: {
    name: 'SVC_NATS_URL',
    description:
      'NATS servers, separated by commas: tls://host:port, or nats://host:port for a server on this machine',
    schema: z.string().transform((text, context) =>
      orProblem(context, () => {
        parseNatsServers(text);
        return text;
      }),
    ),
  },
  natsCredentials: { name: 'SVC_NATS_CREDS', description: 'path of a .creds file', schema: optionalText },
  natsNkey: {
    name: 'SVC_NATS_NKEY',
    description: 'nkey seed',
    schema: z
      .string()
      .transform((text, context) => orProblem(context, () => natsKeyOf(new Secret(text)).seed.reveal()))
      .optional(),
  },
  natsCa: {
    name: 'SVC_NATS_CA',
    description: "path of the NATS server's CA certificate, or its PEM text; it makes TLS required",
    schema: optionalText,
  },
  natsAllowsPlain: {
    name: 'SVC_NATS_ALLOW_PLAIN',
    description: '1 allows connections without TLS to NATS servers on other machines',
    default: '0',
    schema: onOff,
  },
} as const satisfies SettingsTable;

export type NatsConfig = SettingsOf<typeof NATS_SETTINGS>;

/**
 * Requires TLS beyond this machine, because keys, jobs and results would otherwise travel in clear text.
 * `SVC_NATS_ALLOW_PLAIN=1` turns the problem into a warning.
 */
export const checkNatsSettings: SettingsCheck<NatsConfig> = ({ natsUrl, natsCa, natsAllowsPlain }) => {
  const { requiresTls, areLoopback } = parseNatsServers(natsUrl.reveal());
  if (requiresTls || areLoopback || natsCa !== undefined) return { problems: [], warnings: [] };
  if (natsAllowsPlain) {
    const warning =
      'the connection to a NATS server on another machine has no TLS: keys, jobs and results travel in clear text';
    return { problems: [], warnings: [`${warning} (SVC_NATS_ALLOW_PLAIN=1)`] };
  }
  const problem =
    'SVC_NATS_URL: names a server on another machine without tls://: use tls://, or set SVC_NATS_ALLOW_PLAIN=1 to connect without TLS';
  return { problems: [problem], warnings: [] };
};

/** Converts the settings to options of `connectBus`. */
export function busOptionsOf(
  config: NatsConfig,
): Pick<BusParts, 'url' | 'credentialsFile' | 'nkeySeed' | 'ca'> {
  const { natsUrl, natsCredentials, natsNkey, natsCa } = config;
  return {
    url: natsUrl.reveal(),
    ...(natsCredentials === undefined ? {} : { credentialsFile: natsCredentials }),
    ...(natsNkey === undefined ? {} : { nkeySeed: natsNkey }),
    ...(natsCa === undefined ? {} : { ca: natsCa }),
  };
}
