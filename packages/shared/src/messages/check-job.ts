import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { Secret } from '../secret.ts';
import { check } from './check.ts';
import { messageVersion } from './subjects.ts';

/** A secret, because it holds header values, bodies and user information in clear text. */
const openedCheck = check.transform((value) => new Secret(value));

/**
 * One check for one region.
 *
 * `token` is a keyed hash of (monitor, region, slot) that only the coordinator can make. It comes back with
 * the result and proves that the job was given to this region. It is the same whenever the job is sent.
 */
export const checkJob = z.object({
  monitor: z.number().int().positive(),
  /** Version of the monitor's probed attributes; it comes back with the result. */
  version: z.number().int().positive(),
  /** The slot (`cronTimestamp`), epoch ms. */
  slot: z.number().int().nonnegative(),
  token: z.string().max(64),
  /**
   * Time from the receipt of the message to the job's slot, ms (absent: 0).
   *
   * The *start instant* is receipt + `wait_ms`: the first attempt begins then, never before. Until then the
   * agent holds the job like any other, and the job takes no place of its capacity. Receipt is the estimated
   * arrival of the message, not the instant at which the agent reads it.
   */
  wait_ms: z.number().int().min(0).max(LIMITS.jobAheadMs).optional(),
  /**
   * How long after its start instant the job may be started, ms. After that it is `not_run` (`overloaded`).
   */
  start_within_ms: z.number().int().nonnegative(),
  /**
   * Whether the monitor's last attempt timed out. The job then takes a place in the bounded half of the
   * capacity.
   */
  slow: z.boolean().optional(),
  check: openedCheck,
});

export type CheckJob = z.infer<typeof checkJob>;

/**
 * `svc.jobs.<region>`, kind `jobs`: up to 512 jobs and 256 KiB; one larger job goes alone.
 *
 * The jobs are parsed one by one with {@link checkJob}, so that one bad job does not cost the others their
 * check.
 */
export const jobBatch = z.object({
  v: messageVersion,
  kind: z.literal('jobs'),
  jobs: z.array(z.unknown()).min(1).max(LIMITS.jobsPerMessage),
  /**
   * Subject on which the results of these jobs are reported: `svc.results.<own region>` or one token below
   * it. The agent drops a batch with any other.
   */
  results: z.string().max(256),
});

/**
 * `svc.jobs.<region>`, kind `run_now`: one attempt at once. The agent answers with its outcome, which is not
 * recorded.
 */
const runNow = z.object({
  v: messageVersion,
  kind: z.literal('run_now'),
  /** The last token of the subject of its answer. */
  run: z.string().regex(/^[\w-]{1,64}$/),
  check: openedCheck,
});

export const jobsMessage = z.discriminatedUnion('kind', [jobBatch, runNow]);

export type JobBatch = z.infer<typeof jobBatch>;
export type RunNow = z.infer<typeof runNow>;
export type JobsMessage = z.infer<typeof jobsMessage>;
