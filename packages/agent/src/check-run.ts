import { LIMITS } from '@svc/shared/limits.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { Attempt, CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { AttemptVerdict } from './attempt-verdict.ts';
import type { ProbeOutcome } from './probes/probe.ts';
import { roundMs, roundPhases } from './rounding.ts';

/** The result of a check, without the members that name its job. */
export type RunResult = Omit<CheckResult, 'monitor' | 'version' | 'slot' | 'token'>;

/**
 * One check on its way through the runner. Instants are monotonic ms.
 *
 *     queued → attempting → done
 *        ↑         ↓
 *        └───── waiting        (failed, and another attempt is left)
 *                  ↑
 *                submitted     (its slot lies ahead; otherwise it is queued at once)
 */
export type CheckRun = {
  readonly check: Secret<Check>;
  readonly slot: number;
  /** When the first attempt is due: at the slot, or at the receipt of the job if that is later. */
  readonly startAt: number;
  /** Last instant at which the first attempt may begin. */
  readonly startBy: number;
  /** Maximum number of attempts that the check may make, >= 1. */
  readonly attemptLimit: number;
  /** Whether each assertion gets its own verdict, even after one has failed. */
  readonly judgesEach: boolean;
  /** Called once, with the result of the check. */
  readonly done: (result: RunResult) => void;
  /** Whether the monitor's last attempt, in this check or an earlier one, timed out. */
  isSlow: boolean;
  state: 'queued' | 'attempting' | 'waiting' | 'done';
  /** The instant at which the check leaves `waiting`. */
  wakeAt: number;
  /** Start of the first attempt, epoch ms; 0 while there was none. */
  startedAtWall: number;
  startedAt: number;
  attemptStartedAt: number;
  /**
   * Whether the probe of the attempt has ended. The agent may then still be finding out whether its own
   * network is down.
   */
  hasEnded: boolean;
  attempts: Attempt[];
  lastFound: ProbeOutcome | null;
};

type NewRun = Pick<
  CheckRun,
  'check' | 'slot' | 'startAt' | 'startBy' | 'attemptLimit' | 'judgesEach' | 'isSlow' | 'done'
>;

/**
 * Creates a check that waits for its first attempt. All members are set in one object literal, because adding
 * members to a copied object would cost as much again.
 */
export function newRun(run: NewRun): CheckRun {
  const { check, slot, startAt, startBy, attemptLimit, judgesEach, isSlow, done } = run;
  return {
    check,
    slot,
    startAt,
    startBy,
    attemptLimit,
    judgesEach,
    isSlow,
    done,
    state: 'queued',
    wakeAt: 0,
    startedAtWall: 0,
    startedAt: 0,
    attemptStartedAt: 0,
    hasEnded: false,
    attempts: [],
    lastFound: null,
  };
}

/** Whether the first attempt did not begin in time. A check that has begun is always completed. */
export function isTooLate(run: CheckRun, now: number): boolean {
  return run.attempts.length === 0 && now > run.startBy;
}

/** Adds the attempt that just ended to the history. */
export function addAttempt(run: CheckRun, found: ProbeOutcome, verdict: AttemptVerdict): void {
  run.lastFound = found;
  const attempt: Attempt = {
    outcome: verdict.outcome,
    started_ms: roundMs(run.attemptStartedAt - run.startedAt),
    latency: roundMs(found.latency),
  };
  addFacts(attempt, found, verdict);
  run.attempts.push(attempt);
}

/** Makes the result from the last attempt and `verdict`. */
export function resultOf(run: CheckRun, verdict: AttemptVerdict, wallNow: number): RunResult {
  const found = run.lastFound;
  const result: RunResult = {
    outcome: verdict.outcome,
    started_at: run.startedAtWall || wallNow,
    attempts: run.attempts,
  };
  if (verdict.reason !== undefined) result.reason = verdict.reason;
  if (found === null) return result;
  result.latency = roundMs(found.latency);
  result.phases = roundPhases(found.latency, found.phases);
  addFacts(result, found, verdict);
  if (found.certificateExpiresAt !== undefined)
    result.certificate_expires_at = Math.trunc(found.certificateExpiresAt);
  if (found.bodyTruncated === true) result.body_truncated = true;
  if (found.assertions !== undefined) result.assertions = found.assertions;
  return result;
}

/**
 * Adds the status code, the error message and the time-out of an attempt. Each attempt of the history has its
 * own, and the result repeats those of the last attempt.
 */
function addFacts(
  to: Pick<Attempt, 'status_code' | 'error_message' | 'timed_out'>,
  found: ProbeOutcome,
  verdict: AttemptVerdict,
): void {
  const message = found.errorMessage ?? verdict.message;
  if (found.statusCode !== undefined) to.status_code = found.statusCode;
  if (message !== undefined) to.error_message = message.slice(0, LIMITS.errorMessage);
  if (found.timedOut === true) to.timed_out = true;
}

/** Makes the result of a check without an attempt. */
export function notAttempted(reason: NotRunReason, wallNow: number): RunResult {
  return { outcome: 'not_run', reason, started_at: wallNow, attempts: [] };
}
