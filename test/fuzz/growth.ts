import type { Random } from '../simulation/random.ts';
import { threadCpu } from '../support/thread-cpu.ts';
import type { FuzzTarget } from './target.ts';
import { MOST_BYTES } from './target.ts';

/** A parser that takes no longer than this for the longest input is not examined further, ms. */
const NOTICEABLE_MS = 12;
/** CPU time that one measurement takes at least, ms: many steps of the kernel's clock of a thread, which are 4 ms. */
const MEASURED_MS = 60;
/** Twice the length takes a linear parser twice the time, and a quadratic one four times. */
const TOO_STEEP = 2.8;
/**
 * The lengths that are measured. A linear parser is steep too, from 16 to 64 KiB, where its values leave the space of
 * small objects. So the longest is above that, and a quadratic parser is steep at each step.
 */
const PARTS_OF_LONGEST = [1, 1 / 2, 1 / 4, 1 / 8];
const LONGEST_BYTES = 2 * MOST_BYTES;

/** Longest part of an input that is repeated, bytes. It is short compared with the shortest measured length. */
const MOST_KEPT = 1_024;

/** An input in which a part is repeated in place until the input has this length. */
export type Stretched = { readonly before: Buffer; readonly unit: Buffer; readonly after: Buffer };

export function stretchable(long: Buffer, random: Random): Stretched {
  const input = long.subarray(0, MOST_KEPT);
  const start = random.between(0, input.length);
  const end = Math.min(input.length, start + random.logarithmic(1, 40));
  const unit = end > start ? input.subarray(start, end) : Buffer.from('a');
  return { before: input.subarray(0, start), unit, after: input.subarray(end) };
}

export function stretched({ before, unit, after }: Stretched, bytes: number): Buffer {
  const times = Math.max(1, Math.floor((bytes - before.length - after.length) / unit.length));
  return Buffer.concat([before, Buffer.alloc(times * unit.length, unit), after]);
}

/** The fault in the growth of the parser's time with the length, measured at four lengths; null: none. */
export function steepGrowth(target: FuzzTarget, parts: Stretched): string | null {
  const longest = target.mostBytes ?? LONGEST_BYTES;
  const inputs = PARTS_OF_LONGEST.map((part) => stretched(parts, longest * part));
  // Nearly always the longest is the only one that is measured.
  if (quickMs(target, inputs[0] as Buffer) < NOTICEABLE_MS) return null;
  // Wall time is quick to measure and shows that the growth is not steep. Only CPU time proves steep growth, because
  // other programs do not affect it.
  if (!areSteep(inputs.map((input) => quickMs(target, input)))) return null;
  const times = inputs.map((input) => leastCpuMs(target, input));
  if (!areSteep(times)) return null;
  const measured = inputs.map((input, index) => `${times[index]?.toFixed(1)} ms for ${input.length} bytes`);
  return `takes ${measured.join(', ')} of one text repeated`;
}

/** @param times for the lengths of `PARTS_OF_LONGEST` */
function areSteep(times: readonly number[]): boolean {
  return times.slice(1).every((shorter, index) => (times[index] as number) >= TOO_STEEP * shorter);
}

/** CPU time of the parser for an input, ms: the least of three, so that neither the compiler nor the collector counts. */
export function leastCpuMs(target: FuzzTarget, input: Buffer): number {
  return Math.min(cpuMs(target, input), cpuMs(target, input), cpuMs(target, input));
}

function cpuMs(target: FuzzTarget, input: Buffer): number {
  const cpu = threadCpu();
  for (let runs = 1; ; runs += 1) {
    outcomeOf(target, input);
    const ms = cpu();
    if (ms >= MEASURED_MS) return ms / runs;
  }
}

/** Milliseconds of wall time: the least of three. */
function quickMs(target: FuzzTarget, input: Buffer): number {
  const times = [1, 2, 3].map(() => {
    const begun = performance.now();
    outcomeOf(target, input);
    return performance.now() - begun;
  });
  return Math.min(...times);
}

function outcomeOf(target: FuzzTarget, input: Buffer): void {
  try {
    target.parse(input);
  } catch (error) {
    if (!target.isRefusal(error)) throw error;
  }
}
