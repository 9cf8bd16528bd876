import { readFile } from 'node:fs/promises';
import { RESULTS_STREAMS } from '@svc/shared/messages/subjects.ts';
import { connect } from 'nats';

/** Time for the connection and for each answer, ms. */
const ANSWER_WITHIN_MS = 2_000;

/**
 * The regions whose results each NATS server leads, by the
 * name of the server. Empty when no server answers in time.
 *
 * @param urlFile path of a file with the servers' URLs
 */
export async function streamLeaders(urlFile: string): Promise<ReadonlyMap<string, readonly string[]>> {
  // The client reads no password from a URL.
  const urls = (await readFile(urlFile, 'utf8'))
    .trim()
    .split(',')
    .map((url) => new URL(url));
  const [{ username: user, password: pass } = { username: '', password: '' }] = urls;
  const leaders = new Map<string, string[]>();
  try {
    const connection = await connect({
      ...{ servers: urls.map(({ host }) => host), user, pass },
      timeout: ANSWER_WITHIN_MS,
      reconnect: false,
    });
    try {
      const manager = await connection.jetstreamManager({ timeout: ANSWER_WITHIN_MS });
      for await (const { config, cluster } of manager.streams.list()) {
        if (!config.name.startsWith(RESULTS_STREAMS) || cluster?.leader === undefined) continue;
        const region = config.name.slice(RESULTS_STREAMS.length);
        leaders.set(cluster.leader, [...(leaders.get(cluster.leader) ?? []), region]);
      }
    } finally {
      await connection.close();
    }
  } catch {
    // It is shown to people, and nothing depends on it.
  }
  return leaders;
}
