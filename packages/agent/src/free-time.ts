import type { CpuSample } from './waiting.ts';

/** A target that took less than this part of the time-out is healthy. */
const FREE_PART = 0.5;
/** But not more than this is asked for, ms: most time-outs are the default of 45 s, which nothing healthy needs. */
const MOST_MS = 10_000;
/** And never less than this, ms: short time-outs are judged by agents that are well. */
const LEAST_MS = 2_000;

/**
 * Whether a target that said nothing was silent by itself, however long the agent waited otherwise: it had
 * half of the attempt (at least 2 s, at most 10 s are asked for) in which an answer would have been read at once. So no target
 * that takes less is ever called silent by an agent that is late.
 *
 * @param freeMs of {@link freeMs}, less what is known of other stalls
 * @param durationMs of the attempt
 */
export function isProvenBy(freeMs: number, durationMs: number): boolean {
  return freeMs >= Math.max(LEAST_MS, Math.min(MOST_MS, FREE_PART * durationMs));
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
