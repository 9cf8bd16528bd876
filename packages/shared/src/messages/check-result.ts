import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { MESSAGE_VERSION } from './subjects.ts';

export const OUTCOMES = ['passed', 'degraded', 'failed', 'not_run'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Why a check could not be run. None of these ever counts against a monitor. */
export const NOT_RUN_REASONS = [
  /** No live agent in the region, or none took the job within the slot's bound. */
  'no-agent',
  /** An agent took it, but its place never came up within `start_within_ms`. */
  'overloaded',
  /** The agent's event loop stood still so long that its time-outs mean nothing. */
  'agent-starved',
  'shutting-down',
  /** The agent that held it is gone and the slot's bound has passed. */
  'job-lost',
  /** The operator's egress rules deny the declared target. */
  'egress-denied',
  /** The agent does not know this kind of check (older than the coordinator). */
  'unsupported',
  /** A defect of our own; the agent's log has it. */
  'internal-error',
] as const;
export type NotRunReason = (typeof NOT_RUN_REASONS)[number];

const milliseconds = z.number().nonnegative().max(86_400_000);

/** Where the time went, ms with one decimal; the parts that apply add up to `latency`. */
export const phases = z.object({
  dns: milliseconds.optional(),
  connect: milliseconds.optional(),
  tls: milliseconds.optional(),
  first_byte: milliseconds.optional(),
  transfer: milliseconds.optional(),
});
export type Phases = z.infer<typeof phases>;

const errorMessage = z.string().max(LIMITS.errorMessage);

/** One try. Only failures are tried again, so all but the last are `failed` (or `not_run`). */
export const attempt = z.object({
  outcome: z.enum(OUTCOMES),
  /** Start after the check's start, ms. */
  started_ms: milliseconds,
  latency: milliseconds,
  status_code: z.number().int().optional(),
  error_message: errorMessage.optional(),
  timed_out: z.boolean().optional(),
});
export type Attempt = z.infer<typeof attempt>;

/** What a region found out about one slot of a monitor. Latency and phases are the last attempt's. */
export const checkResult = z.object({
  monitor: z.number().int().positive(),
  version: z.number().int().positive(),
  slot: z.number().int().nonnegative(),
  token: z.string().max(64),
  outcome: z.enum(OUTCOMES),
  /** With `not_run` only. */
  reason: z.enum(NOT_RUN_REASONS).optional(),
  /** Agent's wall clock at the start of the first attempt, epoch ms. For people; nothing is decided by it. */
  started_at: z.number().int().nonnegative(),
  /** ms, one decimal; absent with `not_run` before any attempt. */
  latency: milliseconds.optional(),
  phases: phases.optional(),
  status_code: z.number().int().min(0).max(999).optional(),
  error_message: errorMessage.optional(),
  /** The last attempt ended by its time-out. */
  timed_out: z.boolean().optional(),
  attempts: z.array(attempt).max(LIMITS.retries + 1),
  /** TLS targets: when the leaf certificate expires, epoch ms. */
  certificate_expires_at: z.number().int().optional(),
  /** The response was longer than what assertions were shown (2 MiB). */
  body_truncated: z.boolean().optional(),
});
export type CheckResult = z.infer<typeof checkResult>;

/**
 * `svc.results.<region>`: up to 64 results and 256 KiB, sent with a `Nats-Msg-Id`. The results are
 * parsed one by one with {@link checkResult}.
 */
export const resultBatch = z.object({
  v: z.literal(MESSAGE_VERSION),
  agent: z.string().min(1).max(128),
  results: z.array(z.unknown()).min(1).max(LIMITS.resultsPerMessage),
});
export type ResultBatch = z.infer<typeof resultBatch>;
