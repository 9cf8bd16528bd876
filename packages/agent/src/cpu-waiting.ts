import type { CpuCounters } from '@svc/shared/process/cpu-counters.ts';

/** The kernel's counters at one instant (`at`, monotonic ms). */
export type CpuSample = CpuCounters & { readonly at: number };

/** Fractions of a span of time, 0 to 1. */
type WaitingParts = {
  /** The part in which the agent could have run but waited for a CPU, or had used up its quota. */
  readonly waited: number;
  /**
   * The part in which some task on the machine waited for a CPU, or in which
   * the agent's quota, which it may share with other processes, was used up.
   */
  readonly pressed: number;
};

/**
 * An agent that waited for at least this part of an attempt
 * cannot distinguish its own slowness from the target's.
 */
const WAITED_PART = 0.25;
/**
 * When the machine was under pressure for at least this part of an attempt, an agent that waited
 * for {@link WAITED_UNDER_PRESSURE} of it is starved. When the whole machine is short of CPU, every
 * program there that the agent needs (a resolver, a proxy, the target itself) waits too. Pressure
 * alone shows nothing, because work of low priority causes pressure without delaying other work.
 */
const PRESSED_PART = 0.8;
const WAITED_UNDER_PRESSURE = 0.1;

/**
 * Whether the agent was starved in a span: it waited for a quarter of the span, or for a
 * tenth of it while the machine was under pressure for nearly all of it.
 */
export function isStarvedBy({ waited, pressed }: WaitingParts): boolean {
  return waited >= WAITED_PART || (pressed >= PRESSED_PART && waited >= WAITED_UNDER_PRESSURE);
}

/**
 * The parts of the time from `from` to `to` in which the agent waited, and in which the
 * machine was under pressure. Between two samples, the counters are assumed to grow evenly. After
 * the last sample, they are assumed to grow as they grew between the last two. Time before the
 * first sample counts as time without waiting and pressure.
 *
 * @param samples in the order of time; of an interval that
 *   begins before `from`, only the part after `from` counts
 * @param from monotonic ms
 * @param to monotonic ms; the result is 0 for a span without length, or before all samples
 */
export function waitingParts(samples: readonly CpuSample[], from: number, to: number): WaitingParts {
  const duration = to - from;
  let waitedMs = 0;
  let pressedMs = 0;
  for (let index = samples.length - 1; index > 0 && duration > 0; index -= 1) {
    const before = samples[index - 1] as CpuSample;
    const after = samples[index] as CpuSample;
    if (after.at <= from && index < samples.length - 1) break;
    const elapsed = after.at - before.at;
    if (elapsed <= 0) continue;
    const until = index === samples.length - 1 ? Math.max(to, after.at) : after.at;
    const share = Math.max(0, Math.min(until, to) - Math.max(before.at, from)) / elapsed;
    const throttled = grown(before.throttledMs, after.throttledMs);
    const pressed = Math.max(throttled, grown(before.pressedMs, after.pressedMs));
    waitedMs += Math.min(elapsed, waitedBetween(before, after)) * share;
    pressedMs += Math.min(elapsed, pressed) * share;
  }
  if (duration <= 0) return { waited: 0, pressed: 0 };
  return { waited: Math.min(1, waitedMs / duration), pressed: Math.min(1, pressedMs / duration) };
}

/**
 * Time that the agent waited between two samples, ms.
 *
 * The count of the thread's own waiting is used when it exists. This count includes the waits
 * for the quota. Otherwise the throttling of the cgroup is used. The throttling is summed over
 * the CPUs and over all processes that share the quota, so it may be more than the agent waited.
 */
function waitedBetween(before: CpuSample, after: CpuSample): number {
  return after.waitedMs === null
    ? grown(before.throttledMs, after.throttledMs)
    : grown(before.waitedMs, after.waitedMs);
}

function grown(before: number | null, after: number | null): number {
  return before === null || after === null ? 0 : Math.max(0, after - before);
}

/** Part of the attempt that must be free time before the target's silence is proven. */
const FREE_PART = 0.5;
/**
 * Maximum of the required free time, ms. Half of the default
 * time-out of 45 s would be longer than any healthy target needs.
 */
const MOST_MS = 10_000;
/** Minimum of the required free time, ms. A late agent never judges a shorter silence. */
const LEAST_MS = 2_000;
/**
 * A late agent calls a target slow only if the agent's free time until the answer
 * exceeds the monitor's limit by this time, ms. Other programs that the agent
 * needs for the answer (a name server, a proxy) may wait for the same CPUs.
 */
const SLOWER_BY_MS = 2_000;

/**
 * Whether a target's silence is proven although the agent waited for a CPU during the attempt.
 *
 * It is proven when the agent was free for half of the attempt (at least 2 s,
 * at most 10 s), because a free agent reads an answer at once. So even a late
 * agent never calls a target silent that answers within this free time.
 *
 * @param freeMs result of {@link freeMs}, less the time of other known stalls
 * @param durationMs duration of the attempt, ms
 */
export function isSilenceProvenBy(freeMs: number, durationMs: number): boolean {
  return freeMs >= Math.max(LEAST_MS, Math.min(MOST_MS, FREE_PART * durationMs));
}

/**
 * Whether a target's slowness is proven although the agent waited for a CPU during the attempt. The agent's
 * free time until the answer must exceed the limit by at least two seconds.
 *
 * @param freeMs result of {@link freeMs} up to the answer, less the time of other known stalls
 * @param degradedAt limit of the monitor, ms
 */
export function isSlownessProvenBy(freeMs: number, degradedAt: number): boolean {
  return freeMs >= degradedAt + SLOWER_BY_MS;
}

/**
 * Time between `from` and `to` in which the agent certainly did nothing but wait for its targets, ms.
 *
 * When the event loop sleeps in the poll phase, it has read everything that had arrived, so its sleep
 * delays no answer. The time for which the agent waited for a CPU or for its quota is subtracted in
 * full, as if all of it had been counted as sleep. A quota that is used up during the sleep delays
 * nothing: the next arrival wakes the agent up, and the agent's wait counts from then on.
 *
 * The result is a lower bound, because only intervals between two samples
 * inside the span count. It is 0 where the kernel does not count the waiting.
 *
 * @param samples in the order of time
 * @param from monotonic ms
 * @param to monotonic ms
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
