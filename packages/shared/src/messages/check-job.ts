import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { Secret } from '../secret.ts';
import { check } from './check.ts';
import { messageVersion } from './subjects.ts';

/**
 * A check, wrapped in a {@link Secret} because it may contain header values, bodies and user information in
 * clear text.
 */
const openedCheck = check.transform((value) => new Secret(value));

/**
 * One check for one region.
 *
 * `token` is a keyed hash of (monitor, region, slot) that only the coordinator can
 * compute. The agent returns the token with the result, which proves that the coordinator
 * gave the job to this region. The token is the same each time the job is sent.
 */
export const checkJob = z.object({
  monitor: z.number().int().positive(),
  /** Version of the monitor's probed attributes. The agent returns it with the result. */
  version: z.number().int().positive(),
  /** The slot (`cronTimestamp`), epoch ms. */
  slot: z.number().int().nonnegative(),
  token: z.string().max(64),
  /**
   * Time from the receipt of the message to the job's slot, ms (absent: 0).
   *
   * The *start instant* is receipt + `wait_ms`. The first attempt never begins before this instant. Until
   * then the agent keeps the job like any other job, and the job takes no place of the agent's capacity.
   * Receipt is the estimated arrival of the message, not the instant at which the agent reads the message.
   */
  wait_ms: z.number().int().min(0).max(LIMITS.jobAheadMs).optional(),
  /**
   * Maximum time from the start instant (receipt + `wait_ms`) to the first attempt, ms. A job that was not
   * started by then is `not_run` (`overloaded`).
   */
  start_within_ms: z.number().int().nonnegative(),
  /**
   * Whether the last attempt of the monitor's last check in this region timed out. The job may then use only
   * the half of the capacity that all such jobs share.
   */
  slow: z.boolean().optional(),
  check: openedCheck,
});

export type CheckJob = z.infer<typeof checkJob>;

/**
 * Message on `svc.jobs.<region>`, kind `jobs`: up to 512 jobs
 * and 256 KiB. A single larger job has a message of its own.
 *
 * The agent parses the jobs one by one with {@link checkJob}, so
 * that one bad job does not prevent the checks of the other jobs.
 */
export const jobBatch = z.object({
  v: messageVersion,
  kind: z.literal('jobs'),
  jobs: z.array(z.unknown()).min(1).max(LIMITS.jobsPerMessage),
  /**
   * Subject on which the agent reports the results of these jobs: `svc.results.<own region>`,
   * or that subject with one more token. The agent drops a batch with any other subject.
   */
  results: z.string().max(256),
});

/**
 * Message on `svc.jobs.<region>`, kind `run_now`: the agent makes one attempt without delay. It answers with
 * the outcome of the attempt, which is not recorded.
 */
const runNow = z.object({
  v: messageVersion,
  kind: z.literal('run_now'),
  /** The last token of the subject of the agent's answer. */
  run: z.string().regex(/^[\w-]{1,64}$/),
  check: openedCheck,
});

export const jobsMessage = z.discriminatedUnion('kind', [jobBatch, runNow]);

export type JobBatch = z.infer<typeof jobBatch>;
export type RunNow = z.infer<typeof runNow>;
export type JobsMessage = z.infer<typeof jobsMessage>;
