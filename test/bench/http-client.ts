/**
 * CPU per HTTP request over a fresh connection: our client as the probe uses it, undici's `Client`, and a
 * bare socket as the floor. Target, contenders and this runner are processes of their own; rounds are
 * interleaved and medians printed, because the machine's speed drifts.
 *
 *     node test/bench/http-client.ts [rounds] [seconds]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createHttpProbe } from '@svc/agent/probes/http/probe.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { Client } from 'undici';

const CONTENDERS = ['bare socket', 'own client', 'undici Client'] as const;
const MODES = ['paced', 'closed'] as const;
type Contender = (typeof CONTENDERS)[number];
type Mode = (typeof MODES)[number];
type Figures = { cpuMs: number; userMs: number; perSecond: number; rssMiB: number };

const PACED_PER_SECOND = 1_000;
const AT_ONCE = 32;
const BODY = JSON.stringify({
  status: 'ok',
  checks: Array.from({ length: 12 }, (_, id) => ({ id, ok: true })),
});
const ANSWER = [
  'HTTP/1.1 200 OK',
  'Date: Thu, 01 Jan 2026 00:00:00 GMT',
  'Server: bench',
  'Content-Type: application/json; charset=utf-8',
  'Cache-Control: no-store',
  'X-Request-Id: 0123456789abcdef',
  `Content-Length: ${BODY.length}`,
  'Connection: close',
  '',
  BODY,
].join('\r\n');

const [role, first = '', second = '', third = ''] = process.argv.slice(2);
if (role === 'target') serveFixedAnswer();
else if (role === 'client') await runClient(first as Contender, second as Mode, Number(third));
else await runAll(Number(role ?? 5), Number(first || 3));

function serveFixedAnswer(): void {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(ANSWER));
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
    const address = server.address();
    process.send?.(typeof address === 'object' && address !== null ? address.port : 0);
  });
  process.once('disconnect', () => process.exit());
}

async function runClient(contender: Contender, mode: Mode, seconds: number): Promise<void> {
  const [port] = (await once(process, 'message')) as [number];
  const request = requesterOf(contender, port);
  const load = mode === 'paced' ? paced : closedLoop;
  await load(request, Math.min(2, seconds));
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const count = await load(request, seconds);
  const used = process.cpuUsage(cpu);
  const figures: Figures = {
    cpuMs: (used.user + used.system) / 1_000 / count,
    userMs: used.user / 1_000 / count,
    perSecond: (count * 1_000) / (performance.now() - startedAt),
    rssMiB: process.memoryUsage.rss() / 2 ** 20,
  };
  process.send?.(figures, () => process.exit());
}

function requesterOf(contender: Contender, port: number): () => Promise<void> {
  switch (contender) {
    case 'bare socket':
      return () => bareRequest(port);
    case 'undici Client':
      return () => undiciRequest(port);
    case 'own client':
      return ownRequester(port);
    default:
      throw new TypeError(`unknown contender ${String(contender satisfies never)}`);
  }
}

function bareRequest(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = 0;
    const socket: Socket = connect({ port, host: '127.0.0.1', autoSelectFamily: false });
    socket.once('connect', () => socket.write('GET / HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n'));
    socket.on('error', reject);
    socket.on('data', (bytes) => {
      received += bytes.length;
      if (received < ANSWER.length) return;
      socket.destroy();
      resolve();
    });
  });
}

async function undiciRequest(port: number): Promise<void> {
  const client = new Client(`http://127.0.0.1:${port}`);
  const response = await client.request({ path: '/', method: 'GET', headers: { 'user-agent': 'bench' } });
  await response.body.dump();
  await client.destroy();
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
}

function ownRequester(port: number): () => Promise<void> {
  const probe = createHttpProbe({
    resolver: { resolve: () => [], close: async () => {} },
    egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
  });
  const context = { timeoutMs: 45_000, signal: new AbortController().signal };
  return async () => {
    const outcome = await probe.run(
      {
        type: 'http',
        url: `http://127.0.0.1:${port}/`,
        method: 'GET',
        headers: [],
        body: '',
        follow_redirects: true,
        status_code_assertions: [{ target: 200, comparator: 'eq' }],
        body_assertions: [],
        header_assertions: [],
        timeout: 45_000,
        retry: 0,
        degraded_at: 0,
      },
      context,
    );
    if (outcome.outcome !== 'passed') throw new Error(outcome.errorMessage);
  };
}

/** Starts {@link PACED_PER_SECOND} requests a second in steps of 10 ms. @returns how many were made. */
async function paced(request: () => Promise<void>, seconds: number): Promise<number> {
  const startedAt = performance.now();
  const total = Math.round(PACED_PER_SECOND * seconds);
  const running: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(total, ((performance.now() - startedAt) / 1_000) * PACED_PER_SECOND);
      while (running.length < due) running.push(request());
      if (running.length < total) return;
      clearInterval(timer);
      resolve();
    }, 10);
  });
  await Promise.all(running);
  return total;
}

/** Keeps {@link AT_ONCE} requests in flight. @returns how many were made. */
async function closedLoop(request: () => Promise<void>, seconds: number): Promise<number> {
  const endsAt = performance.now() + seconds * 1_000;
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

async function runAll(rounds: number, seconds: number): Promise<void> {
  const target = start('target');
  const [port] = (await once(target, 'message')) as [number];
  const seen = new Map<string, Figures[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const mode of MODES) {
      for (const contender of CONTENDERS) {
        const client = start('client', contender, mode, String(seconds));
        client.send(port);
        const [figures] = (await once(client, 'message')) as [Figures];
        const key = `${mode} · ${contender}`;
        seen.set(key, [...(seen.get(key) ?? []), figures]);
      }
    }
  }
  target.disconnect();
  const table = [...seen].map(([run, figures]) => [
    run,
    {
      'CPU ms/request': median(figures, 'cpuMs').toFixed(4),
      'of it user': median(figures, 'userMs').toFixed(4),
      'requests/s': Math.round(median(figures, 'perSecond')),
      'RSS MiB': Math.round(median(figures, 'rssMiB')),
    },
  ]);
  console.table(Object.fromEntries(table));
}

function start(...args: string[]): ChildProcess {
  return fork(import.meta.filename, args);
}

function median(figures: readonly Figures[], name: keyof Figures): number {
  const sorted = figures.map((figure) => figure[name]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
