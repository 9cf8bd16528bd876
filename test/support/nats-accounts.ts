import { accountsBlock, CONNECTION_BOUNDS } from '@svc/cli/region/configuration.ts';
import type { Region } from '@svc/shared/regions.ts';
import { nkeys } from 'nats';

export type NatsAccounts = {
  /** Lines for the server's configuration. */
  configuration: string;
  seedOf(part: 'coordinator' | Region): string;
};

/** Makes accounts as `svc region` makes them, with new keys, and with its bounds of connections. */
export function natsAccounts(regions: readonly Region[]): NatsAccounts {
  const parts = ['coordinator', ...regions] as const;
  const pairs = new Map(parts.map((part) => [part, nkeys.createUser()]));
  const pairOf = (part: 'coordinator' | Region) => {
    const pair = pairs.get(part);
    if (pair === undefined) throw new Error(`${part} has no account`);
    return pair;
  };
  const accounts = accountsBlock({
    coordinator: [pairOf('coordinator').getPublicKey()],
    system: [nkeys.createUser().getPublicKey()],
    agents: new Map(regions.map((region) => [region, [pairOf(region).getPublicKey()]])),
  });
  const configuration = `${CONNECTION_BOUNDS}\n${accounts}`;
  return { configuration, seedOf: (part) => Buffer.from(pairOf(part).getSeed()).toString() };
}
