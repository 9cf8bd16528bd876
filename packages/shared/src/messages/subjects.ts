import { z } from 'zod';
import { isRegionId, type Region } from '../regions.ts';

/**
 * Name of the JetStream stream that keeps the results of a region about the monitors of a
 * shard until the coordinator has recorded them. Each region has a stream of its own: in a shared
 * stream, one region could evict, delay and de-duplicate the results of other regions.
 */
export const resultsStream = (region: Region, shard = 0): string =>
  shard === 0 ? `${RESULTS_STREAMS}${region}` : `${RESULTS_STREAMS}${region}_${shard}`;

/** The shard whose results a stream of this region keeps; null: no such stream has this name. */
export function shardOfStream(region: Region, stream: string): number | null {
  const own = resultsStream(region);
  if (stream === own) return 0;
  const shard = stream.startsWith(`${own}_`) ? stream.slice(own.length + 1) : '';
  return /^[1-9]\d?$/.test(shard) ? Number(shard) : null;
}

/** Prefix of the names of the streams of results. */
export const RESULTS_STREAMS = 'SVC_RESULTS_';

/** Queue group of a region's agents. NATS sends each batch of jobs to one agent of the group. */
export const AGENT_QUEUE = 'agents';

/** Version of every message that this release writes. */
export const MESSAGE_VERSION = 1;

/**
 * The member `v` of a received message: any version from 1 on.
 *
 * A reader judges a message by its members. A higher version alone is no reason to drop a message, so that
 * agents and coordinators can be upgraded in any order. Capabilities that a sender needs of its receivers are
 * announced in `understands` of their heartbeats.
 */
export const messageVersion = z.number().int().min(1);

/**
 * Subject from the coordinator to one agent of the region: batches of jobs, and requests to run a check now.
 */
export const jobsSubject = (region: Region): string => `svc.jobs.${region}`;

/**
 * Subject from agents to the leader of a shard, for results; JetStream keeps the messages. A batch
 * of jobs names this subject, or a subject one token below it ({@link isResultsSubjectOf}).
 */
export const resultsSubject = (region: Region, shard = 0): string =>
  shard === 0 ? `svc.results.${region}` : `svc.results.${region}.${shard}`;

/**
 * Subject from an agent to the coordinator, for heartbeats. NATS keeps the newest
 * message of each subject, so each start of an agent has a subject of its own.
 *
 * @param boot the random id of this start of the agent: letters, digits, `_` and `-`
 */
export const heartbeatSubject = (region: Region, boot: string): string => `svc.heartbeats.${region}.${boot}`;

/**
 * Subject from an agent to the coordinator, for the outcome of a manual check; the messages are not kept.
 *
 * @param run id of the manual check
 */
export const runSubject = (region: Region, run: string): string => `svc.runs.${region}.${run}`;

/**
 * Name of the JetStream stream in memory that keeps the newest heartbeat of each start of an agent of a
 * region.
 */
export const heartbeatsStream = (region: Region): string => `SVC_HEARTBEATS_${region}`;

/**
 * Subject between coordinators: alerts were queued by the leader of another shard. The message is empty. It is
 * a hint, so nothing depends on its arrival.
 */
export const QUEUED_HINT = 'svc.hints.queued';

/**
 * Subject between coordinators: a leader has given up the lease of a shard. The message is empty. It is a hint,
 * so nothing depends on its arrival.
 */
export const RESIGNED_HINT = 'svc.hints.resigned';

export const ALL_JOBS = 'svc.jobs.*';
export const ALL_RESULTS = 'svc.results.>';
export const ALL_HEARTBEATS = 'svc.heartbeats.*.*';

/**
 * The token that may follow a region's results subject: a dot, then letters,
 * digits, `_` and `-`. A wildcard or a second token does not match.
 */
const BELOW_RESULTS = /^\.[\w-]{1,64}$/;

/**
 * Subjects on which agents of the region may report: its results subject, and all subjects one token below.
 */
export const resultsSubjects = (region: Region): readonly string[] => [
  resultsSubject(region),
  `${resultsSubject(region)}.*`,
];

/**
 * Whether agents of the region may report results on the subject:
 * `svc.results.<region>` or `svc.results.<region>.<token>`.
 */
export function isResultsSubjectOf(region: Region, subject: string): boolean {
  const own = resultsSubject(region);
  return subject === own || (subject.startsWith(own) && BELOW_RESULTS.test(subject.slice(own.length)));
}

/**
 * The region that the third token of a subject names (`svc.<name>.<region>` and all subjects
 * below it); null: svc does not know the region. The subject decides which region sent a message,
 * not the message itself: NATS accounts restrict an agent to the subjects of its region.
 */
export function regionOfSubject(subject: string): Region | null {
  const token = subject.split('.', 3)[2] ?? '';
  return isRegionId(token) ? token : null;
}
