/**
 * Compares the whole loop of another checkout with that of this checkout, in turns, on the same
 * machine and within one run: medians, and medians of the ratios within a pair. Every second pair
 * begins with this checkout, so that a machine that becomes slower favours neither. The cost of a
 * bare socket is measured before every run at the same rate, because budgets are ratios to it.
 *
 *     node test/bench/pair.ts OTHER_CHECKOUT [rates, as 1000,2000] [seconds] [pairs] [seconds of warm-up]
 *
 * A service runs for months, and V8 compiles it for the first one and a half
 * minutes, so these minutes are left out. With a warm-up of 0 s, they are measured.
 *
 * The other checkout needs a `node_modules` of its own. Both sides run under this checkout's harness.
 */
import { resolve } from 'node:path';
import { bareSocketCpuMs } from './bare-socket.ts';
import { Children } from './children.ts';
import { type LoopFigures, type LoopRun, runLoop } from './loop-figures.ts';
import { load, machine } from './machine.ts';
import { median } from './process-usage.ts';
import { formatTable } from './table.ts';

const BARE_SECONDS = 5;

/** The figures of one run of one checkout. */
type Run = LoopFigures & { bareUs: number };
type Pair = { old: Run; new: Run };
type Figure = { name: string; digits: number; of: (run: Run) => number };

const FIGURES: readonly Figure[] = [
  { name: 'coordinator CPU µs/check', digits: 1, of: (run) => run.cpuUs.coordinator },
  { name: 'agents CPU µs/check', digits: 1, of: (run) => run.cpuUs.agents },
  { name: 'NATS CPU µs/check', digits: 1, of: (run) => run.cpuUs.nats },
  { name: 'bare socket CPU µs/check', digits: 1, of: (run) => run.bareUs },
  {
    name: 'coordinator × bare socket (≤ 0.30 at 2,000/s)',
    digits: 2,
    of: (run) => run.cpuUs.coordinator / run.bareUs,
  },
  {
    name: 'agents × bare socket (≤ 1.15 at 1,000/s by one agent)',
    digits: 2,
    of: (run) => run.cpuUs.agents / run.bareUs,
  },
  { name: 'start lateness p50 ms', digits: 0, of: (run) => run.startLateness.p50 },
  { name: 'start lateness p99 ms', digits: 0, of: (run) => run.startLateness.p99 },
  { name: 'end → recorded p50 ms', digits: 0, of: (run) => run.recording.p50 },
  { name: 'end → recorded p99 ms', digits: 0, of: (run) => run.recording.p99 },
  { name: 'coordinator MiB', digits: 0, of: (run) => run.memoryMiB.coordinator },
  { name: 'largest agent MiB', digits: 0, of: (run) => run.memoryMiB.agents },
  { name: 'NATS MiB', digits: 0, of: (run) => run.memoryMiB.nats },
  { name: 'recorded %', digits: 2, of: (run) => run.share * 100 },
  { name: 'not_run', digits: 0, of: (run) => run.notRun },
  { name: 'failed', digits: 0, of: (run) => run.failed },
];

async function runOnce(loop: LoopRun): Promise<Run> {
  const children = new Children();
  try {
    const target = await children.node('test/bench/target-process.ts');
    const socket = {
      port: Number(target.line),
      kind: 'http',
      rate: loop.rate,
      seconds: BARE_SECONDS,
    } as const;
    const bareUs = (await bareSocketCpuMs(children, socket)) * 1_000;
    return { bareUs, ...(await runLoop(loop)) };
  } finally {
    await children.endAll();
  }
}

function tableOf(pairs: readonly Pair[]): string {
  const rows = FIGURES.map(({ name, digits, of }) => {
    const ratio = median(pairs.map((pair) => of(pair.new) / of(pair.old)));
    return [
      name,
      median(pairs.map((pair) => of(pair.old))).toFixed(digits),
      median(pairs.map((pair) => of(pair.new))).toFixed(digits),
      Number.isFinite(ratio) ? ratio.toFixed(2) : '–',
    ];
  });
  return formatTable(['median', 'old', 'new', 'new / old'], rows);
}

async function runPair(loop: LoopRun, root: string, isOldFirst: boolean): Promise<Pair> {
  if (!isOldFirst) {
    const own = await runOnce(loop);
    return { old: await runOnce({ ...loop, root }), new: own };
  }
  const old = await runOnce({ ...loop, root });
  return { old, new: await runOnce(loop) };
}

const [other, rates = '1000,2000', seconds = '60', count = '5', warmUp = '45'] = process.argv.slice(2);
if (other === undefined) throw new Error('give the folder of the other checkout');
console.log(machine());
for (const rate of rates.split(',').map(Number)) {
  const loop = { rate, seconds: Number(seconds), warmUpSeconds: Number(warmUp) };
  const pairs: Pair[] = [];
  while (pairs.length < Number(count))
    pairs.push(await runPair(loop, resolve(other), pairs.length % 2 === 0));
  const spans = `${pairs.length} pairs of ${seconds} s after ${warmUp} s of warm-up`;
  console.log(`\n${rate.toLocaleString('en')} checks/s, ${spans}, ${load()}\n`);
  console.log(tableOf(pairs));
}
