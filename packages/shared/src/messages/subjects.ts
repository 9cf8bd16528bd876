import { isRegion, type Region } from '../regions.ts';

/** JetStream stream that keeps results until the coordinator has recorded them. */
export const RESULTS_STREAM = 'SVC_RESULTS';

/** Queue group of a region's agents: each job batch reaches one of them. */
export const AGENT_QUEUE = 'agents';

/** Version of every message; a reader refuses a higher one and tolerates unknown keys. */
export const MESSAGE_VERSION = 1;

/** Coordinator to one agent of the region: job batches and run-now requests. */
export const jobsSubject = (region: Region): string => `svc.jobs.${region}`;

/** Agent to coordinator, kept by JetStream: batches of results. */
export const resultsSubject = (region: Region): string => `svc.results.${region}`;

/** Agent to coordinator, not kept: heartbeats, acceptances, run-now outcomes. */
export const agentsSubject = (region: Region): string => `svc.agents.${region}`;

export const ALL_JOBS = 'svc.jobs.*';
export const ALL_RESULTS = 'svc.results.*';
export const ALL_AGENTS = 'svc.agents.*';

/**
 * Region named by the last token of a subject, or null when it is none we know. The subject, not
 * the message, says which region speaks: accounts bind an agent to its region's subjects.
 */
export function regionOfSubject(subject: string): Region | null {
  const token = subject.slice(subject.lastIndexOf('.') + 1);
  return isRegion(token) ? token : null;
}
