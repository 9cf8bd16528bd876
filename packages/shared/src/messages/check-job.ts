import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { check } from './check.ts';
import { MESSAGE_VERSION } from './subjects.ts';

/**
 * One check for one region.
 *
 * `token` is an HMAC of (monitor, region, slot) that only the coordinator can make; it comes back with
 * the result and proves that the job was really given to this region. It is the same for every offer
 * of the same job.
 */
export const checkJob = z.object({
  monitor: z.number().int().positive(),
  /** Version of what is probed; comes back with the result. */
  version: z.number().int().positive(),
  /** The slot (`cronTimestamp`), epoch ms. */
  slot: z.number().int().nonnegative(),
  token: z.string().max(64),
  /** The job may be started for this long after it was received, ms; then it is `not_run`. */
  start_within_ms: z.number().int().nonnegative(),
  /** The monitor's last attempt timed out: it takes its place in the bounded half of the capacity. */
  slow: z.boolean().optional(),
  check,
});

export type CheckJob = z.infer<typeof checkJob>;

/**
 * `svc.jobs.<region>`, kind `jobs`: up to 64 jobs and 256 KiB. The jobs are parsed one by one
 * with {@link checkJob}, so that one bad job does not cost its neighbours their check.
 */
export const jobBatch = z.object({
  v: z.literal(MESSAGE_VERSION),
  kind: z.literal('jobs'),
  /** Comes back in the acceptance; unique within the coordinator's life. */
  batch: z.string().max(64),
  jobs: z.array(z.unknown()).min(1).max(LIMITS.jobsPerMessage),
});

/** `svc.jobs.<region>`, kind `run_now`: one attempt at once, whose outcome is answered, not recorded. */
export const runNow = z.object({
  v: z.literal(MESSAGE_VERSION),
  kind: z.literal('run_now'),
  run: z.string().max(64),
  check,
});

/**
 * `svc.jobs.<region>`, kind `roll_call`: answered with a heartbeat at once. A coordinator that has just
 * begun to listen would else not know for up to 2 s who is there.
 */
export const rollCall = z.object({ v: z.literal(MESSAGE_VERSION), kind: z.literal('roll_call') });

export const jobsMessage = z.discriminatedUnion('kind', [jobBatch, runNow, rollCall]);

export type JobBatch = z.infer<typeof jobBatch>;
export type RunNow = z.infer<typeof runNow>;
export type JobsMessage = z.infer<typeof jobsMessage>;
