/**
 * Measures CPU and memory of the agent per check. blackbox_exporter and bare sockets are measured on the same
 * target, in alternation, within one run.
 */
import { AGENT_FLAGS } from '../../deploy/local/node-flags.ts';
import { AgentLoad } from './agent-load.ts';
import { agentRound, checkOf, KINDS, type Kind, RATE, ROUND_SECONDS } from './agent-round.ts';
import { bareSocketCpuMs } from './bare-socket.ts';
import { blackboxRound, hasBlackbox, startBlackbox } from './blackbox.ts';
import { Children } from './children.ts';
import { median, residentMiB } from './process-usage.ts';
import { formatTable } from './table.ts';

const ROUNDS = 5;

/** Runs one round of checks, and returns the CPU time of one process per check, ms. */
type Round = (kind: Kind) => Promise<number>;

async function measure(): Promise<void> {
  const children = new Children();
  const load = await AgentLoad.start(AGENT_FLAGS);
  try {
    const target = await children.node('test/bench/target-process.ts');
    const port = Number(target.line);
    const subjects = new Map<string, Round>([
      ['agent', (kind) => agentRound(load, checkOf(kind, port))],
      [
        'bare socket',
        (kind) => bareSocketCpuMs(children, { port, kind, rate: RATE, seconds: ROUND_SECONDS }),
      ],
    ]);
    if (hasBlackbox()) {
      const blackbox = await startBlackbox(children);
      const targets = { http: `http://127.0.0.1:${port}/`, tcp: `127.0.0.1:${port}` };
      const pacing = { rate: RATE, seconds: ROUND_SECONDS };
      subjects.set('blackbox_exporter', (kind) => blackboxRound(blackbox, [kind, targets[kind]], pacing));
    } else {
      console.log(
        'blackbox_exporter is not installed: no comparison with it (Debian: prometheus-blackbox-exporter)',
      );
    }
    const figures = new Map<string, number[]>();
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const kind of KINDS) {
        for (const [name, run] of subjects) {
          const figure = await run(kind);
          // Round 0 warms up: JIT, caches, connection pools.
          if (round > 0) figures.set(`${kind} ${name}`, [...(figures.get(`${kind} ${name}`) ?? []), figure]);
        }
      }
    }
    report(figures);
    console.log(`agent memory after ${load.results} checks: ${residentMiB(load.agent.pid).toFixed(0)} MiB`);
    console.log(`outcomes: ${JSON.stringify(Object.fromEntries(load.outcomes))}`);
  } finally {
    await load.stop();
    await children.endAll();
  }
}

function report(figures: Map<string, number[]>): void {
  const rows = [...figures].map(([name, values]) => {
    const kind = name.split(' ')[0];
    const peer = figures.get(`${kind} blackbox_exporter`);
    const ratios = peer?.map((value, index) => (values[index] ?? Number.NaN) / value) ?? [];
    return [name, median(values).toFixed(3), ratios.length === 0 ? '–' : median(ratios).toFixed(2)];
  });
  console.log(formatTable(['at 1,000/s', 'CPU ms per check', '× blackbox_exporter'], rows));
}

await measure();
