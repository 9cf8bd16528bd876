import { z } from 'zod';
import { isRegion, type Region } from '../regions.ts';

/**
 * Name of the JetStream stream that keeps a region's results until the coordinator has recorded them. Each
 * region has its own: in a shared stream, a region could evict, delay and de-duplicate the results of others.
 */
export const resultsStream = (region: Region): string => `${RESULTS_STREAMS}${region}`;

/** Prefix of the names of these streams. */
export const RESULTS_STREAMS = 'SVC_RESULTS_';

/** Queue group of a region's agents: each batch of jobs reaches one of them. */
export const AGENT_QUEUE = 'agents';

/** Version of every message that this release writes. */
export const MESSAGE_VERSION = 1;

/**
 * `v` of a message that is read: any version from 1 on.
 *
 * A message is judged by its members. A raised number alone drops nothing, so that agents and coordinators
 * can be upgraded in any order. Heartbeats announce the capabilities that a receiver must have
 * (`understands`).
 */
export const messageVersion = z.number().int().min(1);

/** Coordinator to one agent of the region: batches of jobs, run-now requests. */
export const jobsSubject = (region: Region): string => `svc.jobs.${region}`;

/**
 * Agent to coordinator, kept by JetStream: results. A batch of jobs names this subject or one below it
 * ({@link isResultsSubjectOf}).
 */
export const resultsSubject = (region: Region): string => `svc.results.${region}`;

/**
 * Agent to coordinator: heartbeats. NATS keeps the newest of each subject, so each life of an agent has its
 * own.
 *
 * @param boot the random id of this life of the agent: letters, digits, `_` and `-`
 */
export const heartbeatSubject = (region: Region, boot: string): string => `svc.heartbeats.${region}.${boot}`;

/** Agent to coordinator, not kept: the outcome of a check that is run by hand. @param run its id */
export const runSubject = (region: Region, run: string): string => `svc.runs.${region}.${run}`;

/** Name of the JetStream stream in memory that keeps the newest heartbeat of each agent of a region. */
export const heartbeatsStream = (region: Region): string => `SVC_HEARTBEATS_${region}`;

export const ALL_JOBS = 'svc.jobs.*';
export const ALL_RESULTS = 'svc.results.>';
export const ALL_HEARTBEATS = 'svc.heartbeats.*.*';

/**
 * One token below a region's results subject: letters, digits, `_` and `-`. No wildcard and no further level
 * fits.
 */
const BELOW_RESULTS = /^\.[\w-]{1,64}$/;

/** Subjects whose messages the region's stream keeps: the region's own, and one token below it. */
export const resultsSubjects = (region: Region): readonly string[] => [
  resultsSubject(region),
  `${resultsSubject(region)}.*`,
];

/**
 * Whether agents of the region may report on the subject: `svc.results.<region>` or
 * `svc.results.<region>.<token>`.
 */
export function isResultsSubjectOf(region: Region, subject: string): boolean {
  const own = resultsSubject(region);
  return subject === own || (subject.startsWith(own) && BELOW_RESULTS.test(subject.slice(own.length)));
}

/**
 * Region named by the third token of a subject (`svc.<what>.<region>` and anything below it), or null when
 * svc does not know it. The subject decides which region speaks, not the message: accounts bind an agent to
 * its region's subjects.
 */
export function regionOfSubject(subject: string): Region | null {
  const token = subject.split('.', 3)[2] ?? '';
  return isRegion(token) ? token : null;
}
