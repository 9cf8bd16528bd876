import { NatsTrial, type TrialParts } from '@svc/shared/nats/trial.ts';
import type { RegionText } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { lookUpNames, nameProblem, namesOfServers, resolvedServers } from '../name-lookups.ts';
import { table } from '../table.ts';
import type { NatsFolder } from './folder.ts';
import { keysOf, type Part, partsOf } from './state.ts';

/**
 * A part's key and the number of connections that use it. `connections` is null
 * when no server can be asked. `former` is the key that is being replaced, or null.
 */
export type KeyState = {
  readonly name: Part;
  readonly key: string;
  /** When the key was made, ISO 8601. */
  readonly since: string;
  readonly connections: number | null;
  readonly former: string | null;
  readonly former_connections: number | null;
};

/**
 * Returns the keys of the folder, with the number of connections that the NATS servers report.
 *
 * @param warn receives a line for each server name that has no
 *   address, and the reason when the key of the system account cannot be used
 */
export async function keyStates(folder: NatsFolder, warn: (line: string) => void): Promise<KeyState[]> {
  const { state } = folder;
  const names = await lookUpNames(new Set(namesOfServers(state.url)));
  for (const name of names.keys()) {
    const problem = nameProblem(name, names);
    if (problem !== null) warn(problem);
  }
  const url = resolvedServers(state.url, names);
  const nkeySeed = await folder.findSeed('system', warn);
  const counts =
    url === null || nkeySeed === null
      ? null
      : await connectionsByKey({
          url,
          name: 'svc region',
          nkeySeed,
          ...(state.ca === null ? {} : { ca: state.ca }),
        });
  return partsOf(state).flatMap((name) => {
    const keys = keysOf(state, name);
    if (keys === undefined) return [];
    const { key, former, since } = keys;
    return {
      name,
      key,
      since: new Date(since).toISOString(),
      connections: counts === null ? null : (counts.get(key) ?? 0),
      former,
      former_connections: counts === null || former === null ? null : (counts.get(former) ?? 0),
    };
  });
}

export function tableOf(states: readonly KeyState[], regionText: RegionText): string {
  const rows = states.map(({ name, key, since, connections, former, former_connections }) => [
    regionText(name),
    `${key.slice(0, 8)}…`,
    since.slice(0, 16).replace('T', ' '),
    connections === null ? 'unknown' : String(connections),
    former === null ? '' : `${former.slice(0, 8)}… (${former_connections ?? 'unknown'} connections)`,
  ]);
  return table([['PART', 'KEY', 'MADE (UTC)', 'CONNECTIONS', 'FORMER KEY'], ...rows]);
}

const SUBJECT = '$SYS.REQ.SERVER.PING.CONNZ';
/** Number of connections that each server is asked to list at once. */
const LIMIT = 4_096;

const answer = z.object({
  data: z
    .object({
      connections: z
        .array(z.object({ name: z.string().optional(), authorized_user: z.string().optional() }))
        .optional(),
    })
    .optional(),
});

/**
 * Number of connections of each public key, at all servers of the cluster. Null when
 * no server can be asked. Connections of this command, by their name, do not count. While a connection
 * ends between two lists of a server, the next list misses another one.
 *
 * @param parts options of a connection with the key of the system account
 * @param limit number of connections that each server lists at once, > 0
 */
export async function connectionsByKey(
  parts: TrialParts,
  limit = LIMIT,
): Promise<ReadonlyMap<string, number> | null> {
  let trial: NatsTrial;
  try {
    trial = await NatsTrial.open(parts);
  } catch {
    return null;
  }
  try {
    const counts = new Map<string, number>();
    for (let offset = 0; ; offset += limit) {
      const answers = await trial.askAll(SUBJECT, { auth: true, limit, offset });
      if (answers.length === 0) return null;
      const lists = answers.map((text) => answer.parse(JSON.parse(text)).data?.connections ?? []);
      for (const { name, authorized_user: user = '' } of lists.flat())
        if (name !== parts.name) counts.set(user, (counts.get(user) ?? 0) + 1);
      if (lists.every(({ length }) => length < limit)) return counts;
    }
  } finally {
    await trial.close();
  }
}
