import { type CheckJob, checkJob, type JobsMessage, jobsMessage } from '@svc/shared/messages/check-job.ts';
import type { DropReason } from './metrics.ts';

/**
 * Larger messages are dropped unread, bytes: the size of four batches, and the default limit of NATS itself.
 */
const MAX_MESSAGE_BYTES = 1_024 * 1_024;

const utf8 = new TextDecoder();

/** Reads a message of the jobs subject; returns the reason when it is not one. */
export function readJobsMessage(data: Uint8Array): JobsMessage | DropReason {
  if (data.length > MAX_MESSAGE_BYTES) return 'oversized';
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(data));
  } catch {
    // Only the fact that it came is counted; its content helps nobody.
    return 'not-json';
  }
  const parsed = jobsMessage.safeParse(value);
  return parsed.success ? parsed.data : 'invalid';
}

/**
 * A job of a batch: readable, with a check that this agent does not know or cannot read, or unreadable (with its key where
 * that can be read).
 */
export type ReadJob =
  | { is: 'job'; job: CheckJob }
  | { is: 'unsupported'; job: Omit<CheckJob, 'check'> }
  | { is: 'invalid'; key: [monitor: number, slot: number] | null };

const head = checkJob.omit({ check: true });
const jobKey = checkJob.pick({ monitor: true, slot: true });

export function readJob(value: unknown): ReadJob {
  const job = checkJob.safeParse(value);
  if (job.success) return { is: 'job', job: job.data };
  const readable = head.safeParse(value);
  if (readable.success) return { is: 'unsupported', job: readable.data };
  const key = jobKey.safeParse(value);
  return { is: 'invalid', key: key.success ? [key.data.monitor, key.data.slot] : null };
}
