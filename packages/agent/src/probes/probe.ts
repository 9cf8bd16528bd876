import type { JudgedAssertion } from '@svc/shared/assertions/evaluate.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { NotRunReason, Phases } from '@svc/shared/messages/check-result.ts';
import type { Families } from '../network/families.ts';

/**
 * The finding of one attempt. `failed` is a verdict about the target. `not_run` says that the agent could not
 * probe, and never counts against the target. A probe knows nothing of retries, `degraded_at` or starvation:
 * the runner adds those.
 */
export type ProbeOutcome = {
  outcome: 'passed' | 'failed' | 'not_run';
  /** With `not_run` only. */
  reason?: NotRunReason;
  /** Time from the start to the last needed byte or answer, or to the failure, ms, unrounded. */
  latency: number;
  phases: Phases;
  statusCode?: number;
  /** At most 500 characters, without secrets. It says what was expected and what was seen. */
  errorMessage?: string;
  timedOut?: boolean;
  /** Set with `timedOut` when the target had sent everything and the agent was still decoding it. */
  hasWholeAnswer?: boolean;
  /**
   * Set when connecting failed, or the connection broke before the target had answered anything, or a name
   * server had no answer (SERVFAIL). A forwarder on this machine says SERVFAIL while the uplink is down. The
   * agent's own network may then be down.
   */
  notConnected?: boolean;
  /**
   * The address family of the connection, or the families of the dialled addresses. Absent or empty: nothing
   * was dialled, or a proxy connected.
   */
  families?: Families;
  certificateExpiresAt?: number;
  /**
   * With `judgesEach` only: the verdict on each assertion. Absent when the attempt failed before the
   * assertions.
   */
  assertions?: JudgedAssertion[];
  bodyTruncated?: boolean;
};

export type ProbeContext = {
  /**
   * Bound on the whole attempt, ms, > 0. The probe itself keeps it, within 250 ms. An answer that arrived in
   * time counts, even if the agent reads it a little later.
   */
  timeoutMs: number;
  /**
   * Aborted when the agent stops. The probe then closes its sockets and settles at once as `not_run:
   * shutting-down`.
   */
  signal: AbortSignal;
  /** Whether all assertions are judged. Otherwise judging ends at the first one that fails. */
  judgesEach?: boolean;
};

/**
 * A probe of one kind of check. `run` never rejects: whatever the target does is an outcome, and a defect of
 * svc is `not_run: internal-error`.
 */
export interface Probe<C extends Check = Check> {
  run(check: C, context: ProbeContext): Promise<ProbeOutcome>;
  /** Closes everything that outlives one attempt. Call it when no run is in progress. */
  close(): Promise<void>;
}
