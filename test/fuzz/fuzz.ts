import { getHeapStatistics } from 'node:v8';
import { Random } from '../simulation/random.ts';
import { threadCpu } from '../support/thread-cpu.ts';
import { leastCpuMs, steepGrowth, stretchable, stretched } from './growth.ts';
import { mutatedInput } from './mutations.ts';
import { shrunk } from './shrink.ts';
import { type FuzzTarget, MOST_BYTES, MOST_MS } from './target.ts';

export type Finding = {
  readonly target: string;
  /** The `--seed` that shows it again; its case comes first then. */
  readonly seed: number;
  readonly problem: string;
  readonly input: Buffer;
};

export type Fuzzed = { readonly cases: number; readonly finding: Finding | null };

/** Largest growth of memory that one input may cause, bytes. */
const MOST_MEMORY = 64 * 1_024 * 1_024;
/** One case out of this number measures how time grows with length. */
const GROWTH_EVERY = 40;

/**
 * Feeds a parser with inputs until the time is over or an input shows a fault. Case `n` of seed `s` is case 0 of seed
 * `s + n`, so every finding is shown again by one command.
 *
 * It is not guided by coverage. Such a fuzzer (jazzer.js) finds deeper inputs, but it instruments every
 * module at load, which does not go with type stripping, and it brings a native add-on. The corpora reach
 * every branch that tests know.
 *
 * @param milliseconds of CPU time of this thread, so a busy machine runs as many cases; at least one case runs
 */
export async function fuzz(target: FuzzTarget, seed: number, milliseconds: number): Promise<Fuzzed> {
  const cpu = threadCpu();
  let cases = 0;
  do {
    const finding = await findingOf(target, (seed + cases) >>> 0);
    cases += 1;
    if (finding !== null) return { cases, finding };
  } while (cpu() < milliseconds);
  return { cases, finding: null };
}

async function findingOf(target: FuzzTarget, seed: number): Promise<Finding | null> {
  const random = new Random(seed);
  const input = mutatedInput(target, random);
  const problem = await problemWith(target, input, seed);
  if (problem !== null) return await shortFinding(target, seed, input, problem);
  if (seed % GROWTH_EVERY !== 0) return null;
  const parts = stretchable(input, random);
  const long = stretched(parts, target.mostBytes ?? MOST_BYTES);
  const slow = problemIn(() => costsOf(target, long) ?? steepGrowth(target, parts));
  return slow === null ? null : { target: target.name, seed, problem: slow, input: long };
}

async function shortFinding(
  target: FuzzTarget,
  seed: number,
  input: Buffer,
  problem: string,
): Promise<Finding> {
  const fails = async (other: Buffer) => kindOf(await problemWith(target, other, seed)) === kindOf(problem);
  const least = await shrunk(input, fails);
  return {
    target: target.name,
    seed,
    problem: (await problemWith(target, least, seed)) ?? problem,
    input: least,
  };
}

/** The fixed parts while an input is made shorter. */
const kindOf = (problem: string | null): string | undefined =>
  problem?.slice(0, 40).replaceAll(/[\d.]+/g, '');

/** The fault that an input shows; null: none. */
async function problemWith(target: FuzzTarget, input: Buffer, seed: number): Promise<string | null> {
  const problem = problemIn(() => costsOf(target, input));
  if (problem !== null) return problem;
  try {
    await target.check?.(input, new Random(seed));
    return null;
  } catch (error) {
    return textOf(error);
  }
}

/** The result of `find`, or the error that it throws. */
function problemIn(find: () => string | null): string | null {
  try {
    return find();
  } catch (error) {
    return textOf(error);
  }
}

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : `throws ${String(error)}`;

function costsOf(target: FuzzTarget, input: Buffer): string | null {
  const most = target.mostMs ?? MOST_MS;
  const memory = usedMemory();
  const begun = performance.now();
  try {
    target.parse(input);
  } catch (error) {
    if (!target.isRefusal(error)) throw error;
  }
  const ms = performance.now() - begun;
  const grown = usedMemory() - memory;
  if (grown > MOST_MEMORY) return `takes ${Math.round(grown / 1_048_576)} MiB of memory`;
  if (ms <= most) return null;
  const cpu = leastCpuMs(target, input);
  return cpu <= most ? null : `takes ${cpu.toFixed(1)} ms of CPU for ${input.length} bytes`;
}

function usedMemory(): number {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}
