import { z } from 'zod';
import type { BusOptions } from './nats-bus.ts';
import { parseNatsServers } from './nats-servers.ts';
import { onOff, orProblem } from './setting-schemas.ts';
import type { SettingsCheck, SettingsOf, SettingsTable } from './settings.ts';

const optionalText = z.string().optional();

/** How a process reaches NATS: the same settings for every part of svc. */
export const NATS_SETTINGS = {
  natsUrl: {
    name: 'SVC_NATS_URL',
    description: 'NATS servers, separated by commas: tls://host:port; nats://host:port on this machine',
    schema: z.string().transform((text, context) =>
      orProblem(context, () => {
        parseNatsServers(text);
        return text;
      }),
    ),
  },
  natsCredentials: { name: 'SVC_NATS_CREDS', description: 'path of a .creds file', schema: optionalText },
  natsNkey: { name: 'SVC_NATS_NKEY', description: 'nkey seed', schema: optionalText },
  natsCa: {
    name: 'SVC_NATS_CA',
    description: "path of the NATS server's CA certificate; with it TLS is required",
    schema: optionalText,
  },
  natsAllowsPlain: {
    name: 'SVC_NATS_ALLOW_PLAIN',
    description: '1: NATS servers beyond this machine may be reached without TLS',
    default: '0',
    schema: onOff,
  },
} as const satisfies SettingsTable;

type NatsConfig = SettingsOf<typeof NATS_SETTINGS>;

/** Keys, jobs and results travel in clear without TLS: beyond this machine that has to be wanted. */
export const checkNatsSettings: SettingsCheck<NatsConfig> = ({ natsUrl, natsCa, natsAllowsPlain }) => {
  const { requiresTls, areLoopback } = parseNatsServers(natsUrl.reveal());
  if (requiresTls || areLoopback || natsCa !== undefined) return { problems: [], warnings: [] };
  if (natsAllowsPlain) {
    const warning = 'NATS beyond this machine is reached without TLS: keys, jobs and results travel in clear';
    return { problems: [], warnings: [`${warning} (SVC_NATS_ALLOW_PLAIN=1)`] };
  }
  const problem =
    'SVC_NATS_URL: names a server beyond this machine without tls://; with SVC_NATS_ALLOW_PLAIN=1 it is taken as it is';
  return { problems: [problem], warnings: [] };
};

/** The settings as options of {@link connectBus}. */
export function busOptionsOf(
  config: NatsConfig,
): Pick<BusOptions, 'url' | 'credentialsFile' | 'nkeySeed' | 'caFile'> {
  const { natsUrl, natsCredentials, natsNkey, natsCa } = config;
  return {
    url: natsUrl.reveal(),
    ...(natsCredentials === undefined ? {} : { credentialsFile: natsCredentials }),
    ...(natsNkey === undefined ? {} : { nkeySeed: natsNkey }),
    ...(natsCa === undefined ? {} : { caFile: natsCa }),
  };
}
