import type { CpuSample } from './waiting.ts';

/** A time-out of which the agent had at least so much free, ms: what is healthy answers within less. */
const FREE_MS = 2_000;
/** And at least this part of the attempt. */
const FREE_PART = 0.5;

/**
 * Whether a target that said nothing was silent by itself, however long the agent waited otherwise: it had
 * the greater part of the attempt, and some seconds, in which an answer would have been read at once.
 *
 * @param freeMs of {@link freeMs}, less what is known of other stalls
 * @param durationMs of the attempt
 */
export function isProvenBy(freeMs: number, durationMs: number): boolean {
  return freeMs >= Math.max(FREE_MS, FREE_PART * durationMs);
}

/**
 * How much of the time from `from` to `to` the agent surely had nothing to do but to wait for its targets, ms. Whenever
 * it sleeps in the poll phase it has read whatever had arrived, so none of this time is a delay of its own. Time that it
 * waited for a CPU is taken off in full, as if all of it had been counted as sleep.
 *
 * A lower bound: only what lies between two samples within the span counts. 0 where the machine does not count the waiting,
 * or a counter went back (another cgroup).
 *
 * @param samples in the order of time
 * @param from monotonic ms
 * @param to   monotonic ms
 */
export function freeMs(samples: readonly CpuSample[], from: number, to: number): number {
  let free = 0;
  for (let index = samples.length - 1; index > 0; index--) {
    const before = samples[index - 1] as CpuSample;
    const after = samples[index] as CpuSample;
    if (before.at < from) break;
    if (after.at > to) continue;
    const waited = strictlyGrown(before.waitedMs, after.waitedMs);
    const throttled = after.throttledMs === null ? 0 : strictlyGrown(before.throttledMs, after.throttledMs);
    if (waited === null || throttled === null) return 0;
    free += after.idleMs - before.idleMs - Math.max(waited, throttled);
  }
  return Math.max(0, free);
}

/** Null: this cannot be told. */
function strictlyGrown(before: number | null, after: number | null): number | null {
  return before === null || after === null || after < before ? null : after - before;
}
