/**
 * Compares the CPU time per check of another checkout's agent with that of this
 * checkout's agent: medians, and medians of the ratios within a pair. Both agents run all
 * the time and take turns round by round, so that other work of the machine affects both.
 *
 *     node test/bench/agent-cost-pair.ts OTHER_CHECKOUT [pairs] [http|tcp]
 *
 * `https-pair.ts` compares HTTPS. The other checkout needs a `node_modules`
 * of its own. Both agents run under this checkout's harness.
 */
import { join, resolve } from 'node:path';
import { AGENT_FLAGS } from '../../deploy/local/node-flags.ts';
import { AgentLoad } from './agent-load.ts';
import { agentRound, checkOf, KINDS } from './agent-round.ts';
import { Children } from './children.ts';
import { load, machine } from './machine.ts';
import { median } from './process-usage.ts';
import { formatTable } from './table.ts';

/** Rounds before the first pair, which warm up the JIT and caches. */
const WARM_UP_ROUNDS = 4;

const [other, count = '5', name = 'http'] = process.argv.slice(2);
const kind = KINDS.find((each) => each === name);
if (other === undefined || kind === undefined)
  throw new Error('give the folder of the other checkout, and a kind');
const root = resolve(other);
const { AGENT_FLAGS: otherFlags }: { AGENT_FLAGS: string[] } = await import(
  join(root, 'deploy/local/node-flags.ts')
);
const children = new Children();
const before = await AgentLoad.start(otherFlags, root);
const now = await AgentLoad.start(AGENT_FLAGS);
try {
  const target = await children.node('test/bench/target-process.ts');
  const check = checkOf(kind, Number(target.line));
  const figures: { old: number; new: number }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + Number(count); round += 1) {
    // The agent that begins changes from round to round, so that neither always follows the other.
    const first = round % 2 === 0 ? before : now;
    const one = await agentRound(first, check);
    const two = await agentRound(first === before ? now : before, check);
    const pair = first === before ? { old: one, new: two } : { old: two, new: one };
    if (round >= WARM_UP_ROUNDS) figures.push(pair);
  }
  const rows = figures.map((pair, index) =>
    rowOf(String(index + 1), pair.old, pair.new, pair.new / pair.old),
  );
  const medians = (['old', 'new'] as const).map((side) => median(figures.map((pair) => pair[side])));
  const ratio = median(figures.map((pair) => pair.new / pair.old));
  rows.push(rowOf('median', medians[0] ?? Number.NaN, medians[1] ?? Number.NaN, ratio));
  console.log(`${machine()}, ${load()}\n`);
  console.log(formatTable([`${kind} at 1,000/s`, 'old, CPU µs per check', 'new', 'new / old'], rows));
  for (const { outcomes } of [before, now])
    console.log(`outcomes: ${JSON.stringify(Object.fromEntries(outcomes))}`);
} finally {
  await before.stop();
  await now.stop();
  await children.endAll();
}

function rowOf(what: string, old: number, recent: number, ratio: number): string[] {
  return [what, (old * 1_000).toFixed(1), (recent * 1_000).toFixed(1), ratio.toFixed(3)];
}
