import type { Check } from '@svc/shared/messages/check.ts';
import type { NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import type { ProbeOutcome } from './probes/probe.ts';
import { roundMs } from './rounding.ts';

export type Verdict = { outcome: Outcome; reason?: NotRunReason };

/**
 * What an attempt means: what the probe found, seen against `degraded_at` and against the agent's own
 * delay while it ran.
 *
 * A starved agent cannot tell a time-out of the target from its own, and not whether a target was slow
 * when the delay is all that was above `degraded_at`; both are `not_run`. Failures of other
 * kinds were seen, not inferred from time, and stand.
 *
 * @param loopDelayMs delay of the event loop's stalls during the attempt, 0 when it was not starved
 */
export function judgeAttempt(
  found: ProbeOutcome,
  check: Pick<Check, 'degraded_at'>,
  loopDelayMs: number,
): Verdict {
  switch (found.outcome) {
    case 'not_run':
      return { outcome: 'not_run', reason: found.reason ?? 'internal-error' };
    case 'failed':
      return found.timedOut === true && loopDelayMs > 0 ? starved : { outcome: 'failed' };
    case 'passed': {
      // As it will be shown: 800.04 ms is shown as 800.0, and equal is fine.
      const latency = roundMs(found.latency);
      if (check.degraded_at === 0 || latency <= check.degraded_at) return { outcome: 'passed' };
      const isExplained = loopDelayMs > 0 && latency - loopDelayMs <= check.degraded_at;
      return isExplained ? starved : { outcome: 'degraded' };
    }
    default:
      return found.outcome satisfies never;
  }
}

const starved: Verdict = { outcome: 'not_run', reason: 'agent-starved' };
