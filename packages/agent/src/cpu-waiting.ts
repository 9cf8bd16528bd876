import type { CpuCounters } from '@svc/shared/process/cpu-counters.ts';

/** The counters at one instant (`at`, monotonic ms). */
export type CpuSample = CpuCounters & { readonly at: number };

/** Parts of a span of time, 0 to 1. */
export type WaitingParts = {
  /** The agent could have run and did not: it waited for a CPU, or its quota was used up. */
  readonly waited: number;
  /** A task on the machine waited for a CPU, or the quota that the agent may share with others was used up. */
  readonly pressed: number;
};

/** An agent that waited for this part of an attempt cannot tell its own slowness from the target's. */
const WAITED_PART = 0.25;
/**
 * A part of the attempt under pressure. When the whole machine is short of CPU, everything that the agent
 * asks (a resolver, a proxy, a target beside it) waits too, so less waiting of its own is enough. Pressure
 * alone tells nothing: work of low priority causes it without delaying anybody.
 */
const PRESSED_PART = 0.8;
const WAITED_UNDER_PRESSURE = 0.1;

/** Whether the agent waited for a large part of a span. */
export function isStarvedBy({ waited, pressed }: WaitingParts): boolean {
  return waited >= WAITED_PART || (pressed >= PRESSED_PART && waited >= WAITED_UNDER_PRESSURE);
}

/**
 * The parts of the time from `from` to `to` in which the agent waited. Between two samples the counters count
 * as growing evenly. After the last sample they count as growing like between the last two.
 *
 * @param samples in the order of time; samples before `from` count as far as they reach into the span
 * @param from monotonic ms
 * @param to   monotonic ms; a span without length, or before all samples, has no parts
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
 * The count of the thread's own waiting includes waits for the quota, so it is used where it exists. The
 * throttling of the cgroup is summed over the CPUs and over everything that shares the quota, so it says more
 * than the agent waited. It is used only where there is no other count.
 */
function waitedBetween(before: CpuSample, after: CpuSample): number {
  return after.waitedMs === null
    ? grown(before.throttledMs, after.throttledMs)
    : grown(before.waitedMs, after.waitedMs);
}

function grown(before: number | null, after: number | null): number {
  return before === null || after === null ? 0 : Math.max(0, after - before);
}
