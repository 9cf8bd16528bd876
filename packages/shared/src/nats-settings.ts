import { z } from 'zod';
import type { BusOptions } from './nats-bus.ts';
import type { SettingsOf, SettingsTable } from './settings.ts';

const optionalText = z.string().optional();

/** How a process reaches NATS: the same settings for every part of svc. */
export const NATS_SETTINGS = {
  natsUrl: {
    name: 'SVC_NATS_URL',
    description: 'NATS servers, separated by commas',
    schema: z
      .string()
      .refine(
        (text) => text.split(',').every(isServerAddress),
        'must be host:port or nats://host:port, tls://host:port, several separated by commas',
      ),
  },
  natsCredentials: { name: 'SVC_NATS_CREDS', description: 'path of a .creds file', schema: optionalText },
  natsNkey: { name: 'SVC_NATS_NKEY', description: 'nkey seed', schema: optionalText },
  natsCa: {
    name: 'SVC_NATS_CA',
    description: "path of the NATS server's CA certificate",
    schema: optionalText,
  },
} as const satisfies SettingsTable;

type NatsConfig = SettingsOf<typeof NATS_SETTINGS>;

/** The settings as options of {@link connectBus}. */
export function busOptionsOf(
  config: NatsConfig,
): Pick<BusOptions, 'url' | 'credentialsFile' | 'nkeySeed' | 'caFile'> {
  const { natsUrl, natsCredentials, natsNkey, natsCa } = config;
  return {
    url: natsUrl,
    ...(natsCredentials === undefined ? {} : { credentialsFile: natsCredentials }),
    ...(natsNkey === undefined ? {} : { nkeySeed: natsNkey }),
    ...(natsCa === undefined ? {} : { caFile: natsCa }),
  };
}

/** The client itself takes anything and then never connects. */
function isServerAddress(text: string): boolean {
  const [, scheme, rest] = /^(?:([a-z]+):\/\/)?(.+)$/i.exec(text.trim()) ?? [];
  if (rest === undefined || (scheme !== undefined && !/^(?:nats|tls)$/i.test(scheme))) return false;
  return URL.canParse(`nats://${rest}`);
}
