import type { CpuCounters } from './cpu-counters.ts';

/** The counters at one instant (monotonic ms). */
export type CpuSample = CpuCounters & { readonly at: number };

/** Parts of a span of time, 0 to 1. */
export type WaitingParts = {
  /** The agent could have run and did not: it waited for a CPU, or its quota was used up. */
  readonly waited: number;
  /** Something on the machine waited for a CPU, or the quota that the agent may share with others was used up. */
  readonly pressed: number;
};

/** An agent that waited for this part of an attempt cannot tell its own slowness from the target's. */
const WAITED_PART = 0.25;
/**
 * Where the whole machine is short of CPU, what the agent asks (a resolver, a proxy, a target beside it) waits
 * as well, so less of its own waiting tells the same. Pressure alone tells nothing: work of low priority
 * makes it without holding anybody else up.
 */
const PRESSED_PART = 0.8;
const WAITED_UNDER_PRESSURE = 0.1;

/** Whether the agent waited for a large part of a span. */
export function isStarvedBy({ waited, pressed }: WaitingParts): boolean {
  return waited >= WAITED_PART || (pressed >= PRESSED_PART && waited >= WAITED_UNDER_PRESSURE);
}

/**
 * For which parts of the time from `from` to `to` the agent waited. Between two samples the counters are
 * taken to grow evenly; after the last one, as between the last two.
 *
 * @param samples in the order of time; those of before `from` count as far as they reach into the span
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
 * Time that the agent waited between two samples, ms. Where its thread's own waiting is counted, what the quota made it
 * wait is in that; the throttling of the cgroup is summed over the CPUs and over all that share the quota, and says
 * more than the agent waited. It is taken where nothing else is there.
 */
function waitedBetween(before: CpuSample, after: CpuSample): number {
  return after.waitedMs === null
    ? grown(before.throttledMs, after.throttledMs)
    : grown(before.waitedMs, after.waitedMs);
}

function grown(before: number | null, after: number | null): number {
  return before === null || after === null ? 0 : Math.max(0, after - before);
}
