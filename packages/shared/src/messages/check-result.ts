import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { messageVersion } from './subjects.ts';

export const OUTCOMES = ['passed', 'degraded', 'failed', 'not_run'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * Why a check could not be run. None of these reasons ever counts against a monitor. Add at the end only: stored
 * results have their place in this list.
 */
export const NOT_RUN_REASONS = [
  /** The region has no live agent, or no agent took the job within the slot's bound. */
  'no-agent',
  /** An agent took the job, but had no free place within `start_within_ms`. */
  'overloaded',
  /**
   * The agent stood still, or waited for a CPU, for so long that its time-outs say nothing about the target.
   */
  'agent-starved',
  'shutting-down',
  /** The agent that held the job is gone, and the slot's bound has passed. */
  'job-lost',
  /** The operator's egress rules deny the declared target. */
  'egress-denied',
  /** The agent does not know this kind of check, because it is older than the coordinator. */
  'unsupported',
  /** A defect of svc; the agent's log has the details. */
  'internal-error',
  /**
   * The agent's own network failed: it has no name server or no route, its ports or descriptors are used up,
   * or no reference answers any more.
   */
  'network-down',
  /** The target has IPv6 addresses only, and the agent's machine has no IPv6. */
  'no-ipv6',
] as const;
export type NotRunReason = (typeof NOT_RUN_REASONS)[number];

/**
 * Reads a reason. An unknown reason, from a newer agent, reads as `internal-error`, so that the result still
 * answers its slot.
 */
const notRunReason = z
  .string()
  .transform((text): NotRunReason => (isNotRunReason(text) ? text : 'internal-error'));

function isNotRunReason(text: string): text is NotRunReason {
  return NOT_RUN_REASONS.some((reason) => reason === text);
}

/** Longest duration in a result, ms. */
const MAX_MS = 86_400_000;
/**
 * The last instant that a date can have, and the first one as negative, epoch ms (ECMA-262, section
 * 21.4.1.1).
 */
const LAST_INSTANT = 8_640_000_000_000_000;

/*
 * The schemas below give the members and their types. The bounds are one refinement for each object. A check
 * on each number would be a call and an object each, and a result has twenty numbers: they were a fifth of
 * all that the coordinator allocates.
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
/** One try. Only failures are tried again, so all but the last are `failed` or `not_run`. */
export const attempt = tried.refine(isBoundedAttempt, 'a value out of its bounds');
export type Attempt = z.infer<typeof attempt>;

const finding = z.object({
  outcome: z.enum(OUTCOMES),
  /** With `not_run` only. */
  reason: notRunReason.optional(),
  /**
   * Agent's wall clock at the start of the first attempt, epoch ms. It is for people; nothing is decided by
   * it.
   */
  started_at: z.number(),
  /** ms with one decimal; absent when `not_run` came before any attempt. */
  latency: z.number().optional(),
  phases: phases.optional(),
  /** 0 to 999. */
  status_code: z.number().optional(),
  error_message: z.string().optional(),
  /** Whether the last attempt ended by its time-out. */
  timed_out: z.boolean().optional(),
  attempts: z.array(attempt).max(LIMITS.retries + 1),
  /** When the leaf certificate of a TLS target expires, epoch ms. */
  certificate_expires_at: z.number().optional(),
  /**
   * The verdict on each assertion: its words, and the value that was seen instead (null: it holds). With
   * `run_now` only; absent when the attempt ended before they were judged.
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
  /** Whether the response was longer than the part that assertions saw (2 MiB). */
  body_truncated: z.boolean().optional(),
});

/**
 * The finding of a region in a scheduled or a manual check. Latency and phases belong to the last attempt.
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

/** Characters. */
const LONGEST_AGENT_ID = 128;

/**
 * Up to 512 results and 256 KiB, sent with a `Nats-Msg-Id` on the subject that the batch of jobs named
 * (`JobBatch.results`).
 *
 * The results are parsed one by one with {@link checkResult}.
 */
export const resultBatch = z.object({
  v: messageVersion,
  agent: z.string().min(1).max(LONGEST_AGENT_ID),
  results: z.array(z.unknown()).min(1).max(LIMITS.resultsPerMessage),
});
export type ResultBatch = z.infer<typeof resultBatch>;
