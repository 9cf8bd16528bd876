import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { messageVersion } from './subjects.ts';

export const OUTCOMES = ['passed', 'degraded', 'failed', 'not_run'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * Why a check could not be run. None of these reasons ever counts against a monitor. A
 * new reason must come last: stored results contain the index of a reason in this list.
 */
export const NOT_RUN_REASONS = [
  /** The coordinator had no connection to NATS while the check could begin. */
  'no-agent',
  /**
   * The agent had no room for the job, no free place within `start_within_ms`, or no memory for the response.
   */
  'overloaded',
  /**
   * The agent stood still, or waited for a CPU, for so long that its time-outs show nothing about the target.
   */
  'agent-starved',
  'shutting-down',
  /**
   * The region did not report: the job was lost, or its agent is gone. The region is not asked about the slot
   * again.
   */
  'job-lost',
  /** The operator's egress rules deny the declared target. */
  'egress-denied',
  /** The agent cannot read the check, mostly because the agent is older than the coordinator. */
  'unsupported',
  /**
   * A defect of svc, a job that could not be published, or a reason that this version does not know. The log
   * of the agent or of the coordinator has the details.
   */
  'internal-error',
  /**
   * The agent's own network failed. For example, it reaches no name server or not the operator's proxy, it has
   * no route, a rule forbids the connection, its ports or descriptors are used up, or no reference host
   * answers any more.
   */
  'network-down',
  /** The target has IPv6 addresses only, and the agent's machine has no IPv6. */
  'no-ipv6',
] as const;
export type NotRunReason = (typeof NOT_RUN_REASONS)[number];

/**
 * Reads a reason. An unknown reason, which a newer agent may send, is read as
 * `internal-error`, so that the result still counts as the answer for its slot.
 */
const notRunReason = z
  .string()
  .transform((text): NotRunReason => (isNotRunReason(text) ? text : 'internal-error'));

function isNotRunReason(text: string): text is NotRunReason {
  return NOT_RUN_REASONS.some((reason) => reason === text);
}

/** Maximum duration in a result, ms. */
const MAX_MS = 86_400_000;
/**
 * The last instant that a JavaScript date can have, epoch ms. The first
 * instant is this number with a minus sign (ECMA-262, section 21.4.1.1).
 */
const LAST_INSTANT = 8_640_000_000_000_000;

/*
 * The schemas below define the members and their types. One refinement for each object checks the bounds of
 * its numbers and texts. A check of each number would need a call and an object each, and a result has twenty
 * numbers: such checks made a fifth of the coordinator's allocations.
 */

/** Durations of the parts of an attempt, ms with one decimal. The parts that apply add up to `latency`. */
export const phases = z.object({
  dns: z.number().optional(),
  connect: z.number().optional(),
  tls: z.number().optional(),
  first_byte: z.number().optional(),
  transfer: z.number().optional(),
});
export type Phases = z.infer<typeof phases>;

const tried = z.object({
  outcome: z.enum(OUTCOMES),
  /** Time from the check's start to the attempt's start, ms. */
  started_ms: z.number(),
  latency: z.number(),
  status_code: z.number().optional(),
  error_message: z.string().optional(),
  timed_out: z.boolean().optional(),
});
/**
 * One try of a check. An agent tries again only after an attempt that failed, so all attempts but the last
 * are `failed`.
 */
export const attempt = tried.refine(isBoundedAttempt, 'a value out of its bounds');
export type Attempt = z.infer<typeof attempt>;

const finding = z.object({
  outcome: z.enum(OUTCOMES),
  /** Why the check was not run. Present only with `not_run`. */
  reason: notRunReason.optional(),
  /**
   * Wall clock of the agent at the start of the first attempt, or at the end of a check without an attempt,
   * epoch ms. It is only shown to people: no decision depends on it.
   */
  started_at: z.number(),
  /** Latency of the last attempt, ms with one decimal; absent: `not_run` came before any attempt. */
  latency: z.number().optional(),
  phases: phases.optional(),
  /** Status of the response, 0 to 999. */
  status_code: z.number().optional(),
  error_message: z.string().optional(),
  /** Whether the time-out ended the last attempt. */
  timed_out: z.boolean().optional(),
  attempts: z.array(attempt).max(LIMITS.retries + 1),
  /** When the leaf certificate of a TLS target expires, epoch ms. */
  certificate_expires_at: z.number().optional(),
  /**
   * The verdict on each assertion: the assertion in words, and the failure in words, such as
   * `expected …, saw …` (null: the assertion holds). Present only with `run_now`; absent if the attempt ended
   * before the assertions were evaluated.
   */
  assertions: z
    .array(
      z.object({
        assertion: z.string().max(LIMITS.errorMessage),
        failure: z.string().max(LIMITS.errorMessage).nullable(),
      }),
    )
    .max(3 * LIMITS.assertions + 1)
    .optional(),
  /** Whether the response was longer than the part that the assertions were evaluated on (2 MiB). */
  body_truncated: z.boolean().optional(),
});

/**
 * The finding of a region in a scheduled or a manual check. Latency and phases are those of the last attempt.
 */
export const runResult = finding.refine(isBoundedFinding, 'a value out of its bounds');

const slotFinding = finding.extend({
  monitor: z.number(),
  version: z.number(),
  slot: z.number(),
  token: z.string(),
});
/** The finding of a region about one slot of a monitor. */
export const checkResult = slotFinding.refine(isBoundedResult, 'a value out of its bounds');
export type CheckResult = z.infer<typeof checkResult>;

function isBoundedResult(result: z.infer<typeof slotFinding>): boolean {
  const { monitor, version, slot, token } = result;
  return (
    isCount(monitor) &&
    monitor > 0 &&
    isCount(version) &&
    version > 0 &&
    isCount(slot) &&
    token.length <= 64 &&
    isBoundedFinding(result)
  );
}

function isBoundedFinding(found: z.infer<typeof finding>): boolean {
  const {
    started_at,
    latency,
    phases: parts,
    status_code,
    error_message,
    attempts,
    certificate_expires_at,
  } = found;
  return (
    isCount(started_at) &&
    isDuration(latency) &&
    (parts === undefined || isBoundedPhases(parts)) &&
    (status_code === undefined || (isCount(status_code) && status_code <= 999)) &&
    isErrorMessage(error_message) &&
    attempts.length <= LIMITS.retries + 1 &&
    (certificate_expires_at === undefined || isInstant(certificate_expires_at))
  );
}

function isBoundedPhases({ dns, connect, tls, first_byte, transfer }: Phases): boolean {
  return (
    isDuration(dns) &&
    isDuration(connect) &&
    isDuration(tls) &&
    isDuration(first_byte) &&
    isDuration(transfer)
  );
}

function isBoundedAttempt({
  started_ms,
  latency,
  status_code,
  error_message,
}: z.infer<typeof tried>): boolean {
  return (
    isDuration(started_ms) &&
    isDuration(latency) &&
    (status_code === undefined || Number.isSafeInteger(status_code)) &&
    isErrorMessage(error_message)
  );
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function isInstant(value: unknown): boolean {
  return Number.isSafeInteger(value) && Math.abs(value as number) <= LAST_INSTANT;
}

function isDuration(ms: number | undefined): boolean {
  return ms === undefined || (ms >= 0 && ms <= MAX_MS);
}

function isErrorMessage(text: string | undefined): boolean {
  return text === undefined || text.length <= LIMITS.errorMessage;
}

/** Maximum length of an agent's id, characters. */
const LONGEST_AGENT_ID = 128;

/**
 * The message with up to 512 results and 256 KiB. The agent sends it with a `Nats-Msg-Id`, on the subject
 * that the batch of jobs named (`JobBatch.results`).
 *
 * The coordinator parses the results one by one with {@link checkResult}.
 */
export const resultBatch = z.object({
  v: messageVersion,
  agent: z.string().min(1).max(LONGEST_AGENT_ID),
  results: z.array(z.unknown()).min(1).max(LIMITS.resultsPerMessage),
});
export type ResultBatch = z.infer<typeof resultBatch>;
