import type { JudgedAssertion } from '@svc/shared/assertions/evaluate.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { NotRunReason, Phases } from '@svc/shared/messages/check-result.ts';
import type { DialledAddress } from '../network/local-route.ts';

/**
 * The finding of one attempt. `failed` is a verdict about the target. `not_run`
 * says that the agent could not probe, and never counts against the target. The runner, not the
 * probe, takes account of retries, `degraded_at`, the expiry of certificates, and starvation.
 */
export type ProbeOutcome = {
  outcome: 'passed' | 'failed' | 'not_run';
  /** Why the agent could not probe. Set only with `not_run`. */
  reason?: NotRunReason;
  /** Time from the start to the last needed byte or answer, or to the failure, in ms, not rounded. */
  latency: number;
  phases: Phases;
  statusCode?: number;
  /** What was expected and what was seen, at most 500 characters, without secrets. */
  errorMessage?: string;
  timedOut?: boolean;
  /** Set only with `timedOut`: the target had sent everything, and the agent was still decoding it. */
  hasWholeAnswer?: boolean;
  /**
   * Set when the agent's own network may have caused the failure: connecting failed, the connection
   * broke before an answer began, or no name server knew the answer (such as SERVFAIL). A forwarder
   * on this machine answers SERVFAIL while the uplink is down. May be absent if `timedOut` is set.
   */
  notConnected?: boolean;
  /**
   * The address of the connection. Without a connection, the addresses that were dialled so far; for HTTP,
   * also all addresses of the host. Absent or empty when no address was to be dialled, and when a proxy connects to
   * the target.
   */
  addresses?: readonly DialledAddress[];
  /** The address of the proxy that connects to the target. Set only after a time-out. */
  proxyAddresses?: readonly DialledAddress[];
  certificateExpiresAt?: number;
  /**
   * The verdict on each assertion. Set only with `judgesEach`, and
   * absent when the attempt failed before the assertions were judged.
   */
  assertions?: JudgedAssertion[];
  bodyTruncated?: boolean;
};

export type ProbeContext = {
  /**
   * Maximum duration of the whole attempt, ms, > 0. The probe itself ends the attempt when this time
   * is over. An answer that arrived in time counts, even if the agent reads it a little later.
   */
  timeoutMs: number;
  /**
   * Aborted when the agent stops. The probe then closes its sockets and settles at once as `not_run:
   * shutting-down`.
   */
  signal: AbortSignal;
  /** Whether every assertion is judged. Otherwise the judgement ends at the first assertion that fails. */
  judgesEach?: boolean;
};

/**
 * The probe of one kind of check. `run` never rejects: whatever the target
 * does is an outcome, and a defect of svc is `not_run: internal-error`.
 */
export interface Probe<C extends Check = Check> {
  run(check: C, context: ProbeContext): Promise<ProbeOutcome>;
  /** Closes everything that outlives one attempt. Call it when no run is in progress. */
  close(): Promise<void>;
}
