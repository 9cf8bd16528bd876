import type { CpuSample } from './cpu-waiting.ts';

/** Part of the time-out that must be free. A target that took less than this part is never called silent. */
const FREE_PART = 0.5;
/**
 * Most free time that is required, ms: most time-outs are the default of 45 s, and no healthy target needs
 * that long.
 */
const MOST_MS = 10_000;
/** Least free time that is required, ms. Shorter silences are judged only by agents that are not late. */
const LEAST_MS = 2_000;
/**
 * Time beyond the limit that a slow target must take before an agent that is late calls it slow, ms.
 * Everything else that the agent asks on the way (a name server, a proxy, a target on the same machine) may
 * wait for the same CPUs.
 */
const SLOWER_BY_MS = 2_000;

/**
 * Whether a target that sent nothing was silent by itself, however long the agent waited otherwise.
 *
 * The target had half of the attempt (between 2 s and 10 s) in which the agent would have read an answer at
 * once. So an agent that is late never calls a target silent that answers within that time.
 *
 * @param freeMs result of {@link freeMs}, less the time of other known stalls
 * @param durationMs duration of the attempt
 */
export function isSilenceProvenBy(freeMs: number, durationMs: number): boolean {
  return freeMs >= Math.max(LEAST_MS, Math.min(MOST_MS, FREE_PART * durationMs));
}

/**
 * Whether a target that answered too late was slow by itself, however long the agent waited otherwise. The
 * time in which the agent would have read an answer at once must exceed the limit by at least two seconds.
 *
 * @param freeMs result of {@link freeMs} up to the answer, less the time of other known stalls
 * @param degradedAt limit of the monitor, ms
 */
export function isSlownessProvenBy(freeMs: number, degradedAt: number): boolean {
  return freeMs >= degradedAt + SLOWER_BY_MS;
}

/**
 * Time between `from` and `to` in which the agent surely only waited for its targets, ms.
 *
 * When the event loop sleeps in the poll phase, it has read everything that had arrived, so none of this time
 * is a delay of the agent. Time that it waited for a CPU, a quota's throttling included, is subtracted in
 * full, as if all of it had been counted as sleep. A quota that is used up during the sleep delays nothing:
 * the next arrival wakes the agent up, and its wait counts from then on.
 *
 * The result is a lower bound, because only intervals between two samples inside the span count. It is 0
 * where the machine does not count the waiting.
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
