/**
 * Measures the CPU time of the agent per DNS check, which asks for the A record of a
 * name. Measures blackbox_exporter's DNS probe, and `dig` in a loop, on the same
 * server. They take turns. Prints medians, and medians of the ratios within a round.
 *
 *     node test/bench/dns.ts [rounds] [seconds]
 */
import { spawnSync } from 'node:child_process';
import { AGENT_ENVIRONMENT, AGENT_FLAGS } from '../../deploy/local/node-flags.ts';
import { AgentLoad } from './agent-load.ts';
import { agentRound, dnsCheckOf, RATE } from './agent-round.ts';
import { blackboxRound, hasBlackbox, startBlackbox } from './blackbox.ts';
import { Children } from './children.ts';
import { childrenCpuMs } from './children-cpu.ts';
import { machine } from './machine.ts';
import { median, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

const NAME = 'bench.test';
/** Number of runs of `dig` in a round, one after the other. */
const DIGS = 200;

const [rounds = '5', seconds = '3'] = process.argv.slice(2);
const pacing = { rate: RATE, seconds: Number(seconds) };

const children = new Children();
const { line: port } = await children.node('test/bench/dns-target-process.ts');
const server = `127.0.0.1:${port}`;
const load = await AgentLoad.start(AGENT_FLAGS, undefined, { ...AGENT_ENVIRONMENT, SVC_DNS_SERVERS: server });
try {
  const subjects = new Map<string, () => Promise<number>>([
    ['agent', () => agentRound(load, dnsCheckOf(NAME), pacing)],
  ]);
  if (hasBlackbox()) {
    const dns = { query_name: NAME, query_type: 'A', preferred_ip_protocol: 'ip4' };
    const blackbox = await startBlackbox(children, { dns: { prober: 'dns', timeout: '5s', dns } });
    subjects.set('blackbox_exporter', () => blackboxRound(blackbox, ['dns', server], pacing));
  }
  if (spawnSync('dig', ['-v']).status === 0) subjects.set('dig', digRound);
  const figures = new Map([...subjects.keys()].map((name): [string, number[]] => [name, []]));
  for (let round = 0; round <= Number(rounds); round += 1) {
    for (const [name, run] of subjects) {
      const figure = await run();
      // Round 0 warms up.
      if (round > 0) figures.get(name)?.push(figure);
    }
  }
  const peers = [...subjects.keys()].slice(1);
  const rows = [...figures].map(([name, values]) => [
    name,
    (median(values) * 1_000).toFixed(0),
    ...peers.map((peer) =>
      median(values.map((value, at) => value / (figures.get(peer)?.[at] ?? Number.NaN))).toFixed(2),
    ),
  ]);
  console.log(`${machine()}\n`);
  console.log(formatTable([`at ${RATE}/s`, 'CPU µs per check', ...peers.map((peer) => `× ${peer}`)], rows));
  const found = JSON.stringify(Object.fromEntries(load.outcomes));
  console.log(`agent: ${residentMiB(load.agent.pid).toFixed(0)} MiB after ${load.results} checks, ${found}`);
} finally {
  await load.stop();
  await children.endAll();
}

async function digRound(): Promise<number> {
  const dig = `dig @127.0.0.1 -p ${port} +notcp ${NAME} A > /dev/null`;
  const { cpuMs } = childrenCpuMs(`for i in {1..${DIGS}}; do ${dig}; done`);
  return cpuMs / DIGS;
}
