import type { Check, HttpCheck } from '@svc/shared/messages/check.ts';
import type { NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import { isSilenceProvenBy, isSlownessProvenBy } from './cpu-waiting.ts';
import type { ProbeOutcome } from './probes/probe.ts';
import { roundMs } from './rounding.ts';
import type { HeldBack } from './starvation.ts';

/** The verdict on one attempt. `reason` is set only with `not_run`. */
export type AttemptVerdict = {
  outcome: Outcome;
  reason?: NotRunReason;
  /** A text for people. It is set only when the probe itself gave none. */
  message?: string;
};

/** The members of a check that its verdict depends on. */
type JudgedCheck = Pick<Check, 'degraded_at'> & Pick<HttpCheck, 'certificate_expiry_days'>;

/**
 * Judges an attempt by the probe's finding, `degraded_at`, the required validity
 * of the certificate, and the delays of the agent itself during the attempt.
 *
 * A starved agent can distinguish neither a target's time-out from its own, nor a slow target
 * from a fast one. A stall of the event loop voids a time-out. It voids a slow answer when it
 * is at least as long as the time by which the answer exceeds `degraded_at`. An agent that
 * waited for a CPU for a large part of the attempt was late at every step, so a time-out and a
 * slow answer are both voided, however short each delay was. Both findings stand nevertheless
 * when the agent was free for long enough, because the target had that time to answer. A time-out
 * while the agent was decoding the answer is an exception.
 *
 * Failures of other kinds, and a certificate that expires too
 * soon, always stand: they were seen, not inferred from time.
 *
 * @param heldBack returns the delays of the agent; called only when the verdict depends on them
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
      // Free time proves nothing while the agent's own threads decode a whole answer, because no counter
      // covers the waits of these threads.
      const isProven = isSilenceProvenBy(freeMs, durationMs) && found.hasWholeAnswer !== true;
      return isHeldBack && !isProven ? starved : { outcome: 'failed' };
    }
    case 'passed': {
      const message = expiryNotice(found.certificateExpiresAt, check.certificate_expiry_days, wallNow);
      if (message !== undefined) return { outcome: 'degraded', message };
      // The rounded latency is compared, because people see it:
      // 800.04 ms is shown as 800.0 ms, which a limit of 800 ms allows.
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

const DAY_MS = 86_400_000;

/**
 * The message about a certificate that expires too soon. Undefined when the certificate is valid
 * for long enough, when the monitor requires no validity, or when the attempt met no certificate.
 *
 * @param expiresAt epoch ms
 * @param days whole, > 0
 * @param wallNow epoch ms
 */
function expiryNotice(
  expiresAt: number | undefined,
  days: number | undefined,
  wallNow: number,
): string | undefined {
  if (expiresAt === undefined || days === undefined) return undefined;
  const leftMs = expiresAt - wallNow;
  // If the date is unreadable, `leftMs` is NaN, and the check must not become degraded.
  if (!(leftMs < days * DAY_MS)) return undefined;
  return `the TLS certificate expires ${inDays(leftMs)}, on ${new Date(expiresAt).toISOString()}: sooner than in ${daysOf(days)}`;
}

function inDays(leftMs: number): string {
  return leftMs < DAY_MS ? 'within a day' : `in ${daysOf(Math.floor(leftMs / DAY_MS))}`;
}

function daysOf(count: number): string {
  return count === 1 ? '1 day' : `${count} days`;
}
