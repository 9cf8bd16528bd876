import type { Check } from '@svc/shared/messages/check.ts';
import type { NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import type { ProbeOutcome } from './probes/probe.ts';
import { roundMs } from './rounding.ts';
import type { HeldBack } from './starvation.ts';

export type Verdict = { outcome: Outcome; reason?: NotRunReason };

/**
 * What an attempt means: what the probe found, seen against `degraded_at` and against what kept the agent
 * back while it ran.
 *
 * A starved agent cannot tell a time-out of the target from its own, and not whether a target was slow. A
 * stall of the event loop voids time-outs, and what would not be degraded without its delay; an agent that
 * waited for a CPU for a large part of the attempt was late at every step, so it voids both whole. Failures of
 * other kinds were seen, not inferred from time, and stand.
 *
 * @param heldBack asked only where the verdict depends on it
 */
export function judgeAttempt(
  found: ProbeOutcome,
  check: Pick<Check, 'degraded_at'>,
  heldBack: () => HeldBack,
): Verdict {
  switch (found.outcome) {
    case 'not_run':
      return { outcome: 'not_run', reason: found.reason ?? 'internal-error' };
    case 'failed': {
      if (found.timedOut !== true) return { outcome: 'failed' };
      const { loopDelayMs, isWaiting } = heldBack();
      return isWaiting || loopDelayMs > 0 ? starved : { outcome: 'failed' };
    }
    case 'passed': {
      // As it will be shown: 800.04 ms is shown as 800.0, and equal is fine.
      const latency = roundMs(found.latency);
      if (check.degraded_at === 0 || latency <= check.degraded_at) return { outcome: 'passed' };
      const { loopDelayMs, isWaiting } = heldBack();
      const isExplained = loopDelayMs > 0 && latency - loopDelayMs <= check.degraded_at;
      return isWaiting || isExplained ? starved : { outcome: 'degraded' };
    }
    default:
      return found.outcome satisfies never;
  }
}

const starved: Verdict = { outcome: 'not_run', reason: 'agent-starved' };
