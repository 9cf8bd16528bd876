import { isRegionId, type Region } from '@svc/shared/regions.ts';
import { z } from 'zod';

/**
 * A part that has a key of NATS: the coordinator, the administrator
 * of the server, or a region. The agents of a region share a key.
 */
export type Part = 'coordinator' | 'system' | Region;

/** Public keys of a part. `former` is valid too while the key is being replaced; otherwise it is null. */
const partKeys = z.object({
  key: z.string(),
  former: z.string().nullable(),
  /** When `key` was made, epoch ms. */
  since: z.number().int(),
});
export type PartKeys = z.infer<typeof partKeys>;

/** The content of the file `regions.json`. The server's accounts are made from it. It contains no secret. */
export const natsState = z.object({
  v: z.literal(1),
  /** The address to which agents and the coordinator connect. */
  url: z.string(),
  /**
   * Path of the CA's certificate on the machines of the agents and
   * the coordinator. Null when those machines trust the CA anyway.
   */
  ca: z.string().nullable(),
  /**
   * The servers, by the name of their configuration file. There
   * is one server, or there are all servers of a cluster.
   */
  servers: z.record(z.string(), z.object({ listen: z.string(), pidFile: z.string() })),
  coordinator: partKeys,
  system: partKeys,
  regions: z.record(z.string(), partKeys),
});
export type NatsState = z.infer<typeof natsState>;

/** The keys of a part; undefined when it has no account. */
export function keysOf(state: NatsState, part: Part): PartKeys | undefined {
  return part === 'coordinator' || part === 'system' ? state[part] : state.regions[part];
}

export function withKeys(state: NatsState, part: Part, keys: PartKeys): NatsState {
  if (part === 'coordinator' || part === 'system') return { ...state, [part]: keys };
  return { ...state, regions: { ...state.regions, [part]: keys } };
}

export function withoutRegion(state: NatsState, removed: Region): NatsState {
  const kept = Object.entries(state.regions).filter(([name]) => name !== removed);
  return { ...state, regions: Object.fromEntries(kept) };
}

export function regionsOf(state: NatsState): Region[] {
  return Object.keys(state.regions).filter(isRegionId).sort();
}

/** Every part that has a key. */
export function partsOf(state: NatsState): Part[] {
  return ['coordinator', 'system', ...regionsOf(state)];
}
