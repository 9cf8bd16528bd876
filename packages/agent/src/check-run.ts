import { LIMITS } from '@svc/shared/limits.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { Attempt, CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { AttemptVerdict } from './attempt-verdict.ts';
import type { ProbeOutcome } from './probes/probe.ts';
import { roundMs, roundPhases } from './rounding.ts';

/** A result without the members that say which job it is for. */
export type RunResult = Omit<CheckResult, 'monitor' | 'version' | 'slot' | 'token'>;

/**
 * One check on its way through the runner. Instants are monotonic ms, unless their comment says otherwise.
 *
 *     slot has come ─────▶ queued ── a place is free ──▶ attempting ──▶ done
 *                            ▲                               │
 *                            │ at `wakeAt`                   │ failed, and another attempt is left
 *                            │                               │
 *     slot lies ahead ──▶ waiting ◀──────────────────────────┘
 *
 * A queued check that is too late for its first attempt is done without an attempt. A queued
 * or waiting check is done when the agent stops. A check by hand begins in `attempting`.
 */
export type CheckRun = {
  readonly check: Secret<Check>;
  /** The job's slot, epoch ms; 0 for a check by hand. */
  readonly slot: number;
  /** When the first attempt is due: `wait_ms` after the receipt of the job, that is about at the slot. */
  readonly startAt: number;
  /** Last instant at which the first attempt may begin. */
  readonly startBy: number;
  /** Maximum number of attempts that the check may make, >= 1. */
  readonly attemptLimit: number;
  /** Whether each assertion gets its own verdict, even after one has failed. */
  readonly judgesEach: boolean;
  /** Called once, with the result of the check. */
  readonly done: (result: RunResult) => void;
  /** Whether the monitor's last attempt timed out, in this check or in an earlier check. */
  isSlow: boolean;
  state: 'queued' | 'attempting' | 'waiting' | 'done';
  /** Instant at which a check that is `waiting` becomes `queued`. */
  wakeAt: number;
  /** Start of the first attempt, epoch ms; 0 before that. */
  startedAtWall: number;
  startedAt: number;
  attemptStartedAt: number;
  /**
   * Whether the probe has ended but the attempt has not, because the agent is
   * still finding out whether its own network is down.
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
 * Creates a check in the state `queued`. All members are set in one object literal,
 * because copying an object and adding members to the copy would take twice as long.
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

/** Whether it is too late to begin the check. It is never too late for a further attempt. */
export function isTooLate(run: CheckRun, now: number): boolean {
  return run.attempts.length === 0 && now > run.startBy;
}

/** Adds the attempt that just ended to the check's history. */
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

/** Makes the result from `verdict` and, if there was an attempt, from the last attempt. */
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
 * Adds the status code, the error message and the time-out of an attempt. They are
 * members of each attempt in the history. The result repeats those of the last attempt.
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

/** Makes the result of a check that was not attempted. */
export function notAttempted(reason: NotRunReason, wallNow: number): RunResult {
  return { outcome: 'not_run', reason, started_at: wallNow, attempts: [] };
}
