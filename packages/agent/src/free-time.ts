import type { CpuSample } from './waiting.ts';

/** A target that took less than this part of the time-out is not silent. */
const FREE_PART = 0.5;
/** But not more than this is asked for, ms: most time-outs are the default of 45 s, which nothing healthy needs. */
const MOST_MS = 10_000;
/** And never less than this, ms: short time-outs are judged by agents that are well. */
const LEAST_MS = 2_000;
/**
 * A slow target has to take so much longer than it may, ms, before an agent that is late says so: what the agent asks on
 * the way (a name server, a proxy, a target beside it) may wait for the same CPUs.
 */
const SLOWER_BY_MS = 2_000;

/**
 * Whether a target that said nothing was silent by itself, however long the agent waited otherwise: it had
 * half of the attempt (at least 2 s, at most 10 s are asked for) in which an answer would have been read at once. So no target
 * that takes less is ever called silent by an agent that is late.
 *
 * @param freeMs of {@link freeMs}, less what is known of other stalls
 * @param durationMs of the attempt
 */
export function isSilenceProvenBy(freeMs: number, durationMs: number): boolean {
  return freeMs >= Math.max(LEAST_MS, Math.min(MOST_MS, FREE_PART * durationMs));
}

/**
 * Whether a target that answered too late was slow by itself, however long the agent waited otherwise: the time in which
 * an answer would have been read at once was longer than the target may take, by two seconds at least.
 *
 * @param freeMs of {@link freeMs} until the answer was there, less what is known of other stalls
 * @param degradedAt of the monitor, ms
 */
export function isSlownessProvenBy(freeMs: number, degradedAt: number): boolean {
  return freeMs >= degradedAt + SLOWER_BY_MS;
}

/**
 * How much of the time from `from` to `to` the agent surely had nothing to do but to wait for its targets, ms. Whenever
 * it sleeps in the poll phase it has read whatever had arrived, so none of this time is a delay of its own. Time that it
 * waited for a CPU, a quota's throttling included, is taken off in full, as if all of it had been counted as sleep. A
 * quota that is used up while the agent sleeps delays nothing: what arrives wakes it up, and from then on it waits.
 *
 * A lower bound: only what lies between two samples within the span counts. 0 where the machine does not count the waiting.
 *
 * @param samples in the order of time
 * @param from monotonic ms
 * @param to   monotonic ms
 */
export function freeMs(samples: readonly CpuSample[], from: number, to: number): number {
  let free = 0;
  for (let index = samples.length - 1; index > 0; index -= 1) {
    const before = samples[index - 1] as CpuSample;
    const after = samples[index] as CpuSample;
    if (before.at < from) break;
    if (after.at > to) continue;
    if (before.waitedMs === null || after.waitedMs === null) return 0;
    free += after.idleMs - before.idleMs - (after.waitedMs - before.waitedMs);
  }
  return Math.max(0, free);
}
