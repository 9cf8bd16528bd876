import type { Check } from '@svc/shared/messages/check.ts';
import type { NotRunReason, Phases } from '@svc/shared/messages/check-result.ts';

/**
 * What one attempt found. `failed` is a verdict about the target; `not_run` says that we could not
 * probe and never counts against it. A probe knows nothing of retries, `degraded_at` or starvation:
 * the runner adds those.
 */
export type ProbeOutcome = {
  outcome: 'passed' | 'failed' | 'not_run';
  /** With `not_run` only. */
  reason?: NotRunReason;
  /** From start to the last needed byte or answer, or to the failure; ms, unrounded. */
  latency: number;
  phases: Phases;
  statusCode?: number;
  /** At most 500 characters, without secrets; says what was expected and what was seen. */
  errorMessage?: string;
  timedOut?: boolean;
  /** With `timedOut`: the target had said all that was needed, and the agent was still decoding it. */
  hasWholeAnswer?: boolean;
  /**
   * A failure of connecting, or of the connection, before the target had answered anything; or a name server had
   * nothing to say (SERVFAIL): a forwarder on this machine says so while the uplink is gone. Our own network may be down.
   */
  notConnected?: boolean;
  certificateExpiresAt?: number;
  bodyTruncated?: boolean;
};

export type ProbeContext = {
  /**
   * Bound on the whole attempt, ms, > 0. The probe keeps it itself, within 250 ms; what arrived in time counts, even if the
   * agent reads it a little later.
   */
  timeoutMs: number;
  /** Aborted when the agent stops: the probe closes its sockets and settles at once as `not_run: shutting-down`. */
  signal: AbortSignal;
};

/**
 * Probes of one kind. `run` never rejects: whatever the target does is an outcome, and a defect of
 * our own is `not_run: internal-error`.
 */
export interface Probe<C extends Check = Check> {
  run(check: C, context: ProbeContext): Promise<ProbeOutcome>;
  /** Closes whatever outlives one attempt; no run is in progress any more. */
  close(): Promise<void>;
}
