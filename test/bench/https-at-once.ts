/**
 * Runs 4,000 HTTPS checks at once on one agent, beside 100 plain HTTP checks a second. At
 * first the target never answers the handshake. Then it answers each request 10 s after the
 * handshake. Prints the memory, the delay of time-outs, and the latency of the plain checks.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { AGENT_ENVIRONMENT, AGENT_FLAGS } from '../../deploy/local/node-flags.ts';
import { AgentLoad, type AgentResult } from './agent-load.ts';
import { httpCheckOf } from './agent-round.ts';
import { makeChain } from './certificate-chain.ts';
import { Children } from './children.ts';
import { machine } from './machine.ts';
import { percentile, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

const AT_ONCE = 4_000;
const OTHERS_PER_SECOND = 100;
/** Duration of the plain HTTP checks, s. */
const OTHERS_S = 15;
/** First monitor id of the plain HTTP checks. */
const OTHERS = 1_001;
const TIMEOUT_MS = 5_000;
const LONG_TIMEOUT_MS = 40_000;

const children = new Children();
const chain = await makeChain('ECDSA');
const { line: port } = await children.node('test/bench/target-process.ts', ['0', chain.key, chain.chain]);
const { line: plainPort } = await children.node('test/bench/target-process.ts');
const silent = createServer((socket) => socket.on('error', () => {}).resume()).listen({
  port: 0,
  host: '127.0.0.1',
  backlog: 4_096,
});
await once(silent, 'listening');
const silentUrl = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
const settings = { ...AGENT_ENVIRONMENT, SVC_PROBE_CA: chain.root, SVC_CONCURRENCY: String(AT_ONCE + 1_000) };
const load = await AgentLoad.start(AGENT_FLAGS, undefined, settings);
try {
  await load.offer(httpCheckOf(`https://127.0.0.1:${port}/`), 300, 3);
  await load.untilAnswered();
  const before = residentMiB(load.agent.pid);
  const rows = [
    await part('no handshake', silentUrl, TIMEOUT_MS),
    await part('answered after 10 s', `https://127.0.0.1:${port}/held`, LONG_TIMEOUT_MS),
  ];
  console.log(`${machine()}; ${before.toFixed(0)} MiB before\n`);
  const head = [
    `${AT_ONCE} at once`,
    'outcomes',
    'peak MiB',
    'MiB after',
    'time-outs late, ms: p50',
    'p99',
    'worst',
  ];
  console.log(formatTable([...head, 'others', 'their p50, ms', 'p99'], rows));
} finally {
  await load.stop();
  silent.close();
  await children.endAll();
}

async function part(name: string, url: string, timeoutMs: number): Promise<string[]> {
  const results: AgentResult[] = [];
  load.onResult = (result) => results.push(result);
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentMiB(load.agent.pid));
  }, 50);
  const others = load.offer(
    httpCheckOf(`http://127.0.0.1:${plainPort}/`),
    OTHERS_PER_SECOND,
    OTHERS_S,
    OTHERS,
  );
  await load.offer(httpCheckOf(url, timeoutMs), AT_ONCE, 1);
  await others;
  await load.untilAnswered();
  clearInterval(sampling);
  const many = results.filter(({ monitor }) => monitor < OTHERS);
  const late = many
    .filter((result) => result.timed_out === true)
    .map(({ latency = 0 }) => latency - timeoutMs);
  const beside = results.filter(({ monitor }) => monitor >= OTHERS);
  const latencies = beside.map(({ latency = Number.NaN }) => latency);
  const ms = (values: readonly number[], share: number) =>
    values.length === 0 ? '–' : percentile(values, share).toFixed(0);
  return [
    name,
    counted(many),
    peak.toFixed(0),
    residentMiB(load.agent.pid).toFixed(0),
    ...[0.5, 0.99, 1].map((share) => ms(late, share)),
    counted(beside),
    ...[0.5, 0.99].map((share) => ms(latencies, share)),
  ];
}

function counted(results: readonly AgentResult[]): string {
  const counts = new Map<string, number>();
  for (const { outcome, reason } of results) {
    const named = reason === undefined ? outcome : `${outcome} (${reason})`;
    counts.set(named, (counts.get(named) ?? 0) + 1);
  }
  return [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
}
