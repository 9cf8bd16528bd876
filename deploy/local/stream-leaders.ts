import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { RESULTS_STREAMS } from '@svc/shared/messages/subjects.ts';
import { connect, type JetStreamManager } from 'nats';

/** Time for the connection and for each answer, ms. */
const ANSWER_WITHIN_MS = 2_000;
/** Wait before the servers are asked again whether they have chosen a leader, ms. */
const ASK_AGAIN_MS = 250;

/**
 * Resolves when the servers of the cluster have chosen the leader without which no stream can be created, or when the
 * cluster is stopping. The servers' logs do not show it: a server that joins late may never log who leads.
 *
 * @param urlFile path of a file with the servers' URLs
 */
export async function untilStreamsCanBeMade(urlFile: string, isStopping: () => boolean): Promise<void> {
  while (!isStopping()) {
    try {
      // Only the leader answers.
      return await managing(urlFile, async (manager) => void (await manager.getAccountInfo()));
    } catch {
      await wait(ASK_AGAIN_MS);
    }
  }
}

/**
 * The regions whose results each NATS server leads, by the
 * name of the server. Empty when no server answers in time.
 *
 * @param urlFile path of a file with the servers' URLs
 */
export async function streamLeaders(urlFile: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const leaders = new Map<string, string[]>();
  try {
    await managing(urlFile, async (manager) => {
      for await (const { config, cluster } of manager.streams.list()) {
        if (!config.name.startsWith(RESULTS_STREAMS) || cluster?.leader === undefined) continue;
        const region = config.name.slice(RESULTS_STREAMS.length);
        leaders.set(cluster.leader, [...(leaders.get(cluster.leader) ?? []), region]);
      }
    });
  } catch {
    // It is shown to people, and nothing depends on it.
  }
  return leaders;
}

/** Connects to one of the servers for as long as `work` takes. */
async function managing(urlFile: string, work: (manager: JetStreamManager) => Promise<void>): Promise<void> {
  // The client reads no password from a URL.
  const urls = (await readFile(urlFile, 'utf8'))
    .trim()
    .split(',')
    .map((url) => new URL(url));
  const [{ username: user, password: pass } = { username: '', password: '' }] = urls;
  const connection = await connect({
    ...{ servers: urls.map(({ host }) => host), user, pass },
    timeout: ANSWER_WITHIN_MS,
    reconnect: false,
  });
  try {
    await work(await connection.jetstreamManager({ timeout: ANSWER_WITHIN_MS, checkAPI: false }));
  } finally {
    await connection.close();
  }
}
