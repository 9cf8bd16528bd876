/**
 * One contender of http-client.ts, as a process of its own. Arguments: contender, mode (`paced` or
 * `closed`), port, seconds. Prints one line of JSON: its CPU per request and memory.
 */
import { connect } from 'node:net';
import { createHttpProbe } from '@svc/agent/probes/http/probe.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { Client } from 'undici';
import { httpCheck } from '../support/http-check.ts';
import { pace } from './pace.ts';

export type Figures = { cpuMs: number; userMs: number; perSecond: number; memoryMiB: number };

const RATE = 1_000;
const AT_ONCE = 32;
const WARM_UP_SECONDS = 2;

const [contender = '', mode = '', port = '', seconds = ''] = process.argv.slice(2);

const REQUESTERS: Readonly<Record<string, () => () => Promise<void>>> = {
  'bare socket': () => bareRequest,
  'undici Client': () => undiciRequest,
  'own client': ownRequester,
};

function bareRequest(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', autoSelectFamily: false });
    socket.once('connect', () => socket.write('GET / HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n'));
    socket.on('error', reject);
    // The answer is small enough to come in one piece.
    socket.once('data', () => {
      socket.destroy();
      resolve();
    });
  });
}

async function undiciRequest(): Promise<void> {
  const client = new Client(`http://127.0.0.1:${port}`);
  const response = await client.request({ path: '/', method: 'GET', headers: { 'user-agent': 'bench' } });
  await response.body.dump();
  await client.destroy();
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
}

function ownRequester(): () => Promise<void> {
  const probe = createHttpProbe({
    resolver: { resolve: () => [], isSilentSince: () => false, close: async () => {} },
    egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
  });
  const context = { timeoutMs: 45_000, signal: new AbortController().signal };
  const check = httpCheck({ url: `http://127.0.0.1:${port}/` });
  return async () => {
    const outcome = await probe.run(check, context);
    if (outcome.outcome !== 'passed') throw new Error(outcome.errorMessage);
  };
}

/**
 * Makes requests at a steady rate.
 *
 * @returns the number of requests
 */
async function paced(request: () => Promise<void>, duration: number): Promise<number> {
  let running = 0;
  let count = 0;
  const idle = Promise.withResolvers<void>();
  await pace(RATE, duration, () => {
    running += 1;
    request().then(() => {
      running -= 1;
      count += 1;
      if (count === RATE * duration) idle.resolve();
    }, idle.reject);
  });
  if (running > 0) await idle.promise;
  return count;
}

/**
 * Keeps some requests in progress at all times.
 *
 * @returns the number of requests
 */
async function closedLoop(request: () => Promise<void>, duration: number): Promise<number> {
  const endsAt = performance.now() + duration * 1_000;
  let count = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() < endsAt) {
        await request();
        count += 1;
      }
    }),
  );
  return count;
}

const request = REQUESTERS[contender]?.();
if (request === undefined) throw new Error(`unknown contender ${contender}`);
const load = mode === 'paced' ? paced : closedLoop;
await load(request, WARM_UP_SECONDS);
const before = process.cpuUsage();
const startedAt = performance.now();
const count = await load(request, Number(seconds));
const used = process.cpuUsage(before);
const figures: Figures = {
  cpuMs: (used.user + used.system) / 1_000 / count,
  userMs: used.user / 1_000 / count,
  perSecond: (count * 1_000) / (performance.now() - startedAt),
  memoryMiB: process.memoryUsage.rss() / 2 ** 20,
};
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit());
