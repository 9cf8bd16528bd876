/**
 * Measures how long requests hold the thread that schedules checks:
 *
 *     node test/bench/large-bodies.ts [runs]
 *
 * The benchmark sends bodies of 320 KiB, the worst of their kinds, to an API in a process of its own. A hold
 * is the longest turn of the API's main thread while the request was served, as CPU time. The bound is 20 ms.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { STORE_THREADS } from '@svc/coordinator/store/sqlite/store-threads.ts';
import { startApi } from '../support/api.ts';
import { LARGE_BODIES } from '../support/large-bodies.ts';
import { percentile } from './process-usage.ts';
import { formatTable } from './table.ts';

/** The largest page of a list, whose bodies have nearly the allowed size. */
const LIST_OF = { monitors: 100, characters: 250_000 };

type Ready = { url: string; token: string };

/**
 * The longest turns of this thread. They are measured as CPU time, because time that other programs take does
 * not count.
 */
class Turns {
  #worst = 0;
  #before = process.threadCpuUsage();
  readonly #timer = setInterval(() => this.#look(), 1);

  #look(): void {
    const { user, system } = process.threadCpuUsage(this.#before);
    this.#worst = Math.max(this.#worst, (user + system) / 1_000);
    this.#before = process.threadCpuUsage();
  }

  /** Returns the longest turn since the last call, ms. */
  takeWorst(): number {
    this.#look();
    const worst = this.#worst;
    this.#worst = 0;
    return worst;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The process of the API. It answers each message with its longest turn since the former message. */
async function serve(): Promise<void> {
  const api = await startApi({}, {}, STORE_THREADS);
  const turns = new Turns();
  process.on('message', () => process.send?.(turns.takeWorst()));
  process.once('disconnect', () => {
    turns.stop();
    void api.dispose().then(() => process.exit());
  });
  process.send?.({ url: api.url, token: api.operator } satisfies Ready);
}

async function holdOf(server: ChildProcess, work: () => Promise<unknown>): Promise<number> {
  server.send('worst');
  await once(server, 'message');
  await delay(20);
  await work();
  await delay(20);
  server.send('worst');
  const [hold] = (await once(server, 'message')) as [number];
  return hold;
}

async function measure(runs: number): Promise<void> {
  const server = fork(import.meta.filename, ['serve']);
  const [{ url, token }] = (await once(server, 'message')) as [Ready];
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const send = async (path: string, body: string, status: number) => {
    const answer = await fetch(`${url}/v1/${path}`, { method: 'POST', headers, body });
    await answer.text();
    if (answer.status !== status) throw new Error(`POST ${path} answered ${answer.status}`);
  };
  const rows: string[][] = [];
  const take = async (name: string, work: () => Promise<unknown>) => {
    await work();
    const holds: number[] = [];
    for (let run = 0; run < runs; run += 1) holds.push(await holdOf(server, work));
    rows.push([name, percentile(holds, 0.5).toFixed(1), Math.max(...holds).toFixed(1)]);
  };
  rows.push(['nothing', (await holdOf(server, () => delay(500))).toFixed(1), '']);
  for (const [name, [path, body, status]] of Object.entries(LARGE_BODIES)) {
    await take(`320 KiB of ${name}`, () => send(path, body, status));
  }
  const monitor = { type: 'http', name: 'a', url: 'https://a.example/', periodicity: '1m' };
  const large = JSON.stringify({ ...monitor, method: 'POST', body: 'x'.repeat(LIST_OF.characters) });
  for (let count = 0; count < LIST_OF.monitors; count += 1) await send('monitors', large, 201);
  await take(`a list of ${LIST_OF.monitors} monitors with bodies of 250 kB`, async () =>
    (await fetch(`${url}/v1/monitors?limit=100`, { headers })).arrayBuffer(),
  );
  console.log(formatTable(['request', 'hold, median, ms', 'worst, ms'], rows));
  server.disconnect();
  await once(server, 'exit');
}

if (process.argv[2] === 'serve') await serve();
else await measure(Number(process.argv[2] ?? 7));
