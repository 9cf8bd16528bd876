import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { Secret } from '../secret.ts';
import { check } from './check.ts';
import { messageVersion } from './subjects.ts';

/** Header values, bodies and user information stand in it in clear. */
const openedCheck = check.transform((value) => new Secret(value));

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
  /**
   * The job's slot lies this far ahead of the receipt of the message, ms (`jobs-ahead`; absent: 0). The
   * *start instant* is receipt + `wait_ms`: the first attempt begins then, never before. Until then the
   * job is held like any other, and takes no place of the capacity.
   */
  wait_ms: z.number().int().min(0).max(LIMITS.jobAheadMs).optional(),
  /** The job may be started for this long after its start instant, ms; then it is `not_run` (`overloaded`). */
  start_within_ms: z.number().int().nonnegative(),
  /** The monitor's last attempt timed out: it takes its place in the bounded half of the capacity. */
  slow: z.boolean().optional(),
  check: openedCheck,
});

export type CheckJob = z.infer<typeof checkJob>;

/**
 * `svc.jobs.<region>`, kind `jobs`: up to 512 jobs and 256 KiB (one larger job goes alone); up to 64 jobs
 * where not every agent of the region announced `large-batches`, since any of them may get the message.
 * The jobs are parsed one by one with {@link checkJob}, so that one bad job does not cost its neighbours
 * their check.
 */
export const jobBatch = z.object({
  v: messageVersion,
  kind: z.literal('jobs'),
  /** Comes back in the acceptance; unique within the coordinator's life. */
  batch: z.string().max(64),
  jobs: z.array(z.unknown()).min(1).max(LIMITS.jobsPerMessage),
  /**
   * Subject on which these jobs' results are reported (`results-subject`): `svc.results.<own region>` or one
   * token below it, else the agent drops the batch. It also says that who reads there understands batches
   * of up to 512 results and reasons that version 0.1 did not have. Absent: `svc.results.<own region>`, as 0.1.
   */
  results: z.string().max(256).optional(),
});

/** `svc.jobs.<region>`, kind `run_now`: one attempt at once, whose outcome is answered, not recorded. */
const runNow = z.object({
  v: messageVersion,
  kind: z.literal('run_now'),
  run: z.string().max(64),
  /** Who asks reads reasons of `not_run` that version 0.1 did not have (absent: no). */
  any_reason: z.boolean().optional(),
  check: openedCheck,
});

/**
 * `svc.jobs.<region>`, kind `roll_call`: answered with a heartbeat at once. A coordinator that has just
 * begun to listen would else not know for up to 2 s who is there.
 */
export const rollCall = z.object({ v: messageVersion, kind: z.literal('roll_call') });

export const jobsMessage = z.discriminatedUnion('kind', [jobBatch, runNow, rollCall]);

export type JobBatch = z.infer<typeof jobBatch>;
export type RunNow = z.infer<typeof runNow>;
export type JobsMessage = z.infer<typeof jobsMessage>;
