import { LIMITS } from '@svc/shared/limits.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { Attempt, CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { ProbeOutcome } from './probes/probe.ts';
import { roundMs, roundPhases } from './rounding.ts';
import type { AttemptVerdict } from './verdict.ts';

/** The result of a check, without the job that it was for. */
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
  /** Last instant at which the first attempt may begin. */
  readonly startBy: number;
  /** Most attempts that the check may make, >= 1. */
  readonly attemptLimit: number;
  /** Called once. */
  readonly done: (result: RunResult) => void;
  /** Whether the monitor's last attempt, in this check or an earlier one, timed out. */
  isSlow: boolean;
  state: 'queued' | 'attempting' | 'waiting' | 'done';
  /** When the check leaves `waiting`. */
  wakeAt: number;
  /** Start of the first attempt, epoch ms; 0 before it. */
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

/** Adds the attempt that just ended to the history. */
export function addAttempt(run: CheckRun, found: ProbeOutcome, verdict: AttemptVerdict): void {
  run.lastFound = found;
  run.attempts.push({
    outcome: verdict.outcome,
    started_ms: roundMs(run.attemptStartedAt - run.startedAt),
    latency: roundMs(found.latency),
    ...statusCodeOf(found),
    ...errorMessageOf(found, verdict),
    ...(found.timedOut === true ? { timed_out: true } : {}),
  });
}

/** Makes the result from the last attempt and `verdict`. */
export function resultOf(run: CheckRun, verdict: AttemptVerdict, wallNow: number): RunResult {
  const found = run.lastFound;
  const common = {
    outcome: verdict.outcome,
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
    started_at: run.startedAtWall || wallNow,
    attempts: run.attempts,
  };
  if (found === null) return common;
  return {
    ...common,
    latency: roundMs(found.latency),
    phases: roundPhases(found.latency, found.phases),
    ...statusCodeOf(found),
    ...errorMessageOf(found, verdict),
    ...(found.timedOut === true ? { timed_out: true } : {}),
    ...(found.certificateExpiresAt === undefined
      ? {}
      : { certificate_expires_at: Math.trunc(found.certificateExpiresAt) }),
    ...(found.bodyTruncated === true ? { body_truncated: true } : {}),
  };
}

/** Makes the result of a check without an attempt. */
export function notAttempted(reason: NotRunReason, wallNow: number): RunResult {
  return { outcome: 'not_run', reason, started_at: wallNow, attempts: [] };
}

function statusCodeOf(found: ProbeOutcome): { status_code?: number } {
  return found.statusCode === undefined ? {} : { status_code: found.statusCode };
}

function errorMessageOf(found: ProbeOutcome, verdict: AttemptVerdict): { error_message?: string } {
  const message = found.errorMessage ?? verdict.message;
  return message === undefined ? {} : { error_message: message.slice(0, LIMITS.errorMessage) };
}
