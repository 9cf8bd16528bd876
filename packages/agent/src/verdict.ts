import type { Check, HttpCheck } from '@svc/shared/messages/check.ts';
import type { NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import { expiryNotice } from './certificate-expiry.ts';
import { isSilenceProvenBy, isSlownessProvenBy } from './free-time.ts';
import type { ProbeOutcome } from './probes/probe.ts';
import { roundMs } from './rounding.ts';
import type { HeldBack } from './starvation.ts';

export type AttemptVerdict = {
  outcome: Outcome;
  reason?: NotRunReason;
  /** Why, where the probe itself has nothing to say; for people. */
  message?: string;
};

/** The members of a check that its verdict depends on. */
type JudgedCheck = Pick<Check, 'degraded_at'> & Pick<HttpCheck, 'certificate_expiry_days'>;

/**
 * What an attempt means: what the probe found, seen against `degraded_at`, against how long the certificate
 * has to be valid, and against what kept the agent back while it ran.
 *
 * A starved agent cannot tell a time-out of the target from its own, and not whether a target was slow. A
 * stall of the event loop voids time-outs, and what would not be degraded without its delay; an agent that
 * waited for a CPU for a large part of the attempt was late at every step, so it voids both whole. Both stand
 * all the same where the agent was free for long enough: then the target had that time, and was silent or slow. Failures
 * of other kinds, and a certificate that expires too soon, were seen, not inferred from time, and stand.
 *
 * @param heldBack asked only where the verdict depends on it
 * @param wallNow epoch ms
 */
export function judgeAttempt(
  found: ProbeOutcome,
  check: JudgedCheck,
  heldBack: (latency?: number) => HeldBack,
  wallNow: number,
): AttemptVerdict {
  switch (found.outcome) {
    case 'not_run':
      return { outcome: 'not_run', reason: found.reason ?? 'internal-error' };
    case 'failed': {
      if (found.timedOut !== true) return { outcome: 'failed' };
      const { loopDelayMs, isWaiting, freeMs, durationMs } = heldBack();
      const isHeldBack = isWaiting || loopDelayMs > 0;
      // Threads of ours decode, and nothing counts what those wait for.
      const isProven = isSilenceProvenBy(freeMs, durationMs) && found.hasWholeAnswer !== true;
      return isHeldBack && !isProven ? starved : { outcome: 'failed' };
    }
    case 'passed': {
      const message = expiryNotice(found.certificateExpiresAt, check.certificate_expiry_days, wallNow);
      if (message !== undefined) return { outcome: 'degraded', message };
      // As it will be shown: 800.04 ms is shown as 800.0, and equal is fine.
      const latency = roundMs(found.latency);
      if (check.degraded_at === 0 || latency <= check.degraded_at) return { outcome: 'passed' };
      const { loopDelayMs, isWaiting, freeMs } = heldBack(found.latency);
      const isExplained = loopDelayMs > 0 && latency - loopDelayMs <= check.degraded_at;
      const isHeldBack = isWaiting || isExplained;
      return isHeldBack && !isSlownessProvenBy(freeMs, check.degraded_at) ? starved : { outcome: 'degraded' };
    }
    default:
      return found.outcome satisfies never;
  }
}

const starved: AttemptVerdict = { outcome: 'not_run', reason: 'agent-starved' };
