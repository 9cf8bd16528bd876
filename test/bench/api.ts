/**
 * Measures how soon the API answers with 10,000 monitors, each with headers and assertions: `node
 * test/bench/api.ts [requests]`. The API runs in a process of its own, over a database on disk. Requests use
 * connections that stay open, one after the other and ten at once. The CPU time is that of the API.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { parseResource } from '@svc/shared/resources/registry.ts';
import { startApi } from '../support/api.ts';
import { cpuMs, percentile } from './process-usage.ts';
import { formatTable } from './table.ts';

const MONITORS = 10_000;
const PER_TRANSACTION = 500;
const CONCURRENCIES = [1, 10];

type Ready = { url: string; token: string };
type Case = { name: string; send: (number: number) => Promise<void> };

/** The process of the API. */
async function serve(): Promise<void> {
  const api = await startApi({ rate: { perSecond: 1e9, atOnce: 1e9 } });
  const context = { workspaceId: api.workspaceId, actor: 'api' } as const;
  for (let first = 0; first < MONITORS; first += PER_TRANSACTION) {
    await api.configuration.transaction(context, async (change) => {
      for (let number = first; number < first + PER_TRANSACTION; number += 1) {
        const parsed = parseResource('svc_http_monitor', monitor(number), 'api');
        if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
        await change.create('svc_http_monitor', parsed.value);
      }
    });
  }
  process.once('disconnect', () => void api.dispose().then(() => process.exit()));
  process.send?.({ url: api.url, token: api.operator } satisfies Ready);
}

function monitor(number: number): object {
  return {
    type: 'http',
    name: `Monitor ${number}`,
    url: `https://service-${number}.example.com/health?with=some&more=text`,
    periodicity: '1m',
    description: 'What it is, and whom to ask when it is down.',
    regions: ['hosta-fra', 'hosta-iad', 'hosta-sin'],
    headers: [
      { key: 'Accept', value: 'application/json' },
      { key: 'X-Api-Key', value: '0123456789abcdef0123456789abcdef' },
    ],
    status_code_assertions: [{ target: 200, comparator: 'eq' }],
    body_assertions: [{ target: '"status":"ok"', comparator: 'contains' }],
  };
}

function cases({ url, token }: Ready, agent: Agent): Case[] {
  const send = (method: string, path: string, status: number, body?: object) =>
    exchange(agent, { url: `${url}${path}`, method, token, status, body });
  const somewhere = (number: number) => (number * 7_919) % (MONITORS - 100);
  return [
    { name: 'list of 100', send: (n) => send('GET', `/v1/monitors?limit=100&offset=${somewhere(n)}`, 200) },
    {
      name: 'list of 100, by name',
      send: () => send('GET', '/v1/monitors?limit=100&name=monitor%2099', 200),
    },
    { name: 'get', send: (n) => send('GET', `/v1/monitors/${somewhere(n) + 1}`, 200) },
    { name: 'create', send: (n) => send('POST', '/v1/monitors', 201, monitor(MONITORS + n)) },
  ];
}

async function exchange(
  agent: Agent,
  sent: { url: string; method: string; token: string; status: number; body: object | undefined },
): Promise<void> {
  const { url, method, token, status, body } = sent;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${token}`,
    ...(text === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  };
  const outgoing = request(url, { method, agent, headers });
  outgoing.end(text);
  const [response] = await once(outgoing, 'response');
  for await (const _part of response);
  if (response.statusCode !== status) throw new Error(`${method} ${url} answered ${response.statusCode}`);
}

/** Sends requests, and returns the duration of each, ms. */
async function durations({ send }: Case, count: number, atOnce: number): Promise<number[]> {
  const taken: number[] = [];
  let next = 0;
  const worker = async () => {
    for (let number = next++; number < count; number = next++) {
      const startedAt = performance.now();
      await send(number);
      taken.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return taken;
}

async function measure(count: number): Promise<void> {
  const server: ChildProcess = fork(import.meta.filename, ['serve']);
  const [ready] = (await once(server, 'message')) as [Ready];
  const agent = new Agent({ keepAlive: true });
  const rows: string[][] = [];
  for (const one of cases(ready, agent)) {
    await durations(one, 200, 1);
    for (const atOnce of CONCURRENCIES) {
      const before = cpuMs(server.pid ?? 0);
      const taken = await durations(one, count, atOnce);
      const cpu = (cpuMs(server.pid ?? 0) - before) / count;
      const times = [percentile(taken, 0.5), percentile(taken, 0.99), Math.max(...taken), cpu];
      rows.push([one.name, String(atOnce), ...times.map((ms) => ms.toFixed(1))]);
    }
  }
  console.log(
    formatTable([`${MONITORS} monitors`, 'at once', 'p50, ms', 'p99, ms', 'worst, ms', 'CPU each, ms'], rows),
  );
  agent.destroy();
  server.disconnect();
  await once(server, 'exit');
}

if (process.argv[2] === 'serve') await serve();
else await measure(Number(process.argv[2] ?? 1_000));
