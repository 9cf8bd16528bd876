/**
 * Measures the CPU time of the agent per HTTPS check with a full handshake. A bare
 * `tls.connect`, blackbox_exporter, undici's `Client` and `node:https` are measured too, and
 * `openssl s_time` as the floor. The chains are of ECDSA P-256 and of RSA 2048, with leaf,
 * intermediate and root; plain HTTP is the control. All take turns on the same targets, because
 * the machine's speed drifts. Prints medians, and medians of the ratios within a round.
 *
 *     node test/bench/https.ts [rounds] [seconds] [OTHER_CHECKOUT]
 *
 * The agent of another checkout takes its turns too. That checkout needs a `node_modules` of its own.
 */
import { join, resolve } from 'node:path';
import { AGENT_ENVIRONMENT, AGENT_FLAGS } from '../../deploy/local/node-flags.ts';
import { AgentLoad } from './agent-load.ts';
import { agentRound, httpCheckOf } from './agent-round.ts';
import { blackboxRound, hasBlackbox, startBlackbox } from './blackbox.ts';
import { CHAIN_KINDS, makeChain } from './certificate-chain.ts';
import { Children } from './children.ts';
import { childrenCpuMs } from './children-cpu.ts';
import { machine } from './machine.ts';
import { median, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

/** Checks a second. */
const RATE = 300;
/** Number of first rounds that do not count. They warm up the JIT and caches. */
const WARM_UP_ROUNDS = 1;
const AGENT = 'agent';
/** Groups of an agent whose targets have classical groups only. */
const CLASSICAL = 'X25519:P-256:P-384';

const [rounds = '5', seconds = '3', other] = process.argv.slice(2);
const pacing = { rate: RATE, seconds: Number(seconds) };

/** Runs one round of checks, and returns the CPU time of one process per check, ms. */
type Subject = () => Promise<number>;

async function measure(): Promise<void> {
  const children = new Children();
  const loads = new Map<string, AgentLoad>();
  const figures = new Map<string, Map<string, number[]>>();
  try {
    const subjects = await subjectsOf(children, loads);
    for (let round = 0; round < WARM_UP_ROUNDS + Number(rounds); round += 1) {
      for (const [target, runs] of subjects) {
        for (const [name, run] of runs) {
          const figure = await run();
          if (round >= WARM_UP_ROUNDS) noted(figures, target, name).push(figure);
        }
      }
    }
    report(figures);
    for (const [name, { agent, results, outcomes }] of loads) {
      const found = JSON.stringify(Object.fromEntries(outcomes));
      console.log(`${name}: ${residentMiB(agent.pid).toFixed(0)} MiB after ${results} checks, ${found}`);
    }
  } finally {
    for (const load of loads.values()) await load.stop();
    await children.endAll();
  }
}

/** Makes everything that is measured: the contenders of each target. */
async function subjectsOf(children: Children, loads: Map<string, AgentLoad>) {
  const subjects = new Map<string, Map<string, Subject>>();
  for (const kind of [...CHAIN_KINDS, 'plain HTTP'] as const) {
    const chain = await makeChain(kind === 'plain HTTP' ? 'ECDSA' : kind);
    const files = kind === 'plain HTTP' ? [] : [chain.key, chain.chain];
    const { line: port } = await children.node('test/bench/target-process.ts', ['0', ...files]);
    const url = `${kind === 'plain HTTP' ? 'http' : 'https'}://127.0.0.1:${port}/`;
    const client = (contender: string) => async () => {
      const args = [contender, url, chain.root, String(RATE), seconds];
      return Number((await children.node('test/bench/https-client-process.ts', args)).line);
    };
    const agent = async (name: string, root?: string, settings: Record<string, string> = {}) => {
      const environment = { ...AGENT_ENVIRONMENT, SVC_PROBE_CA: chain.root, ...settings };
      const load = await AgentLoad.start(await flagsOf(root), root, environment);
      loads.set(`${name}, ${kind}`, load);
      return () => agentRound(load, httpCheckOf(url), pacing);
    };
    const runs = new Map<string, Subject>([[AGENT, await agent(AGENT)]]);
    if (other !== undefined) runs.set('agent of before', await agent('agent of before', resolve(other)));
    if (kind === 'plain HTTP') runs.set(bareOf(kind), client(bareOf(kind)));
    else {
      const classical = await agent(CLASSICAL, undefined, { SVC_PROBE_TLS_GROUPS: CLASSICAL });
      runs.set(`agent, ${CLASSICAL}`, classical);
      runs.set(bareOf(kind), client(bareOf(kind)));
      runs.set('openssl s_time', async () => opensslCpuMs(port, chain.root));
      for (const name of ['undici Client', 'node:https']) runs.set(name, client(name));
    }
    if (hasBlackbox()) {
      const http = { preferred_ip_protocol: 'ip4', tls_config: { ca_file: chain.root } };
      const blackbox = await startBlackbox(children, { https: { prober: 'http', timeout: '5s', http } });
      runs.set('blackbox_exporter', () => blackboxRound(blackbox, ['https', url], pacing));
    }
    subjects.set(kind, runs);
  }
  return subjects;
}

async function flagsOf(root: string | undefined): Promise<readonly string[]> {
  if (root === undefined) return AGENT_FLAGS;
  const { AGENT_FLAGS: flags } = await import(join(root, 'deploy/local/node-flags.ts'));
  return flags;
}

function bareOf(target: string): string {
  return target === 'plain HTTP' ? 'bare net.connect' : 'bare tls.connect';
}

function noted(figures: Map<string, Map<string, number[]>>, target: string, name: string): number[] {
  const ofTarget = figures.get(target) ?? new Map<string, number[]>();
  figures.set(target, ofTarget);
  const values = ofTarget.get(name) ?? [];
  ofTarget.set(name, values);
  return values;
}

/**
 * Measures full handshakes with a request each, one after
 * the other, by OpenSSL alone. Returns the CPU time, ms.
 */
function opensslCpuMs(port: string, root: string): number {
  const command = `openssl s_time -connect 127.0.0.1:${port} -new -www / -tls1_3 -verify 3 -CAfile ${root} -time ${seconds}`;
  const { cpuMs, text } = childrenCpuMs(command);
  const [, connections] = /(\d+) connections in \d+ real seconds/.exec(text) ?? [];
  return cpuMs / Number(connections);
}

function report(figures: ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>): void {
  const rows = [...figures].flatMap(([target, ofTarget]) =>
    [...ofTarget].map(([name, values]) => [
      target,
      name,
      (median(values) * 1_000).toFixed(0),
      ...[bareOf(target), 'blackbox_exporter', 'agent of before'].map((peer) =>
        ratioOf(values, ofTarget.get(peer)),
      ),
    ]),
  );
  console.log(`${machine()}\n`);
  const head = [`at ${RATE}/s`, '', 'CPU µs per check', '× bare', '× blackbox_exporter', '× agent of before'];
  console.log(formatTable(head, rows));
}

/** Median of the ratios within a round. */
function ratioOf(values: readonly number[], peers: readonly number[] | undefined): string {
  if (peers === undefined) return '–';
  return median(values.map((value, round) => value / (peers[round] ?? Number.NaN))).toFixed(2);
}

await measure();
