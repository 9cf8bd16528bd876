import { messageOf } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { Logger } from '@svc/shared/log.ts';
import { jobsSubject, MESSAGE_VERSION, resultsSubject } from '@svc/shared/messages/subjects.ts';
import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { TextBytes } from '@svc/shared/text/text-bytes.ts';
import { regionIndex } from '../verdict/region-set.ts';
import type { JobTokens } from './job-tokens.ts';
import { type Job, jobKey, type OpenJobs } from './open-jobs.ts';
import type { Overload } from './overload.ts';

/** Text that ends a message of jobs. */
const MESSAGE_END = ']}';

export type PublisherParts = {
  /** The id of the shard whose leader reads the results. */
  shard: number;
  /** The regions of the installation. */
  regions: readonly Region[];
  bus: Bus;
  log: Logger;
  jobs: OpenJobs;
  slowChecks: SlowChecks;
  tokens: Pick<JobTokens, 'tokenOf'>;
  counters: DispatchCounters;
  overload: Pick<Overload, 'startWithinMs'>;
};

/**
 * Sends queued jobs to their regions.
 *
 * A message holds up to 512 jobs and 256 KiB; a job that is larger is sent in a message of its own. The
 * message contains the subject for the results and, for each job, the time to wait until its slot. The check
 * of a monitor was encoded when the declaration was loaded or changed.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  /** The subject of each region's jobs, by the region's index. */
  readonly #subjects: string[] = [];
  /** The message that is being composed. */
  readonly #message = new TextBytes(2 * LIMITS.messageBytes);
  /** Bound on the delay of checks in the message's region, ms: see {@link Overload.startWithinMs}. */
  #startWithinMs = 0;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Publishes queued jobs. Without a connection, jobs wait until they are too late. */
  publishJobs(now: number): void {
    for (const region of this.#parts.regions) this.#publishRegion(region, now);
  }

  #publishRegion(region: Region, now: number): void {
    const { bus, jobs } = this.#parts;
    const queued = jobs.takeQueuedJobs(region, now);
    if (!bus.isConnected) {
      jobs.putBackJobs(queued);
      return;
    }
    let from = 0;
    for (let index = 0; index < queued.length; index += 1) {
      const job = queued[index] as Job;
      if (index - from < LIMITS.jobsPerMessage && this.#append(job, index - from, now)) continue;
      if (!this.#send(region, queued, from, index, now)) return;
      from = index;
      this.#append(job, 0, now);
    }
    if (queued.length > from) this.#send(region, queued, from, queued.length, now);
  }

  /**
   * Appends a job to the message. The first job begins a new message.
   *
   * @param before number of jobs in the message
   * @returns whether the job is appended; false: the message would be too long. The first job always fits
   */
  #append(job: Job, before: number, now: number): boolean {
    const message = this.#message;
    const { length } = message;
    if (before === 0) this.#begin(job.region);
    else message.ascii(',');
    this.#write(job, now);
    if (before === 0 || message.length + MESSAGE_END.length <= LIMITS.messageBytes) return true;
    message.cut(length);
    return false;
  }

  #begin(region: Region): void {
    const message = this.#message;
    this.#startWithinMs = this.#parts.overload.startWithinMs(region);
    message.cut(0);
    message.ascii(
      `{"v":${MESSAGE_VERSION},"kind":"jobs","results":"${resultsSubject(region, this.#parts.shard)}","jobs":[`,
    );
  }

  #write(job: Job, now: number): void {
    const message = this.#message;
    const { monitor, slot, region, key, startAt, startBy } = job;
    const { slowChecks, tokens } = this.#parts;
    // The wait is rounded up, so that a check never starts before its slot.
    const waitMs = Math.max(0, Math.ceil(startAt - now));
    message.ascii('{"monitor":');
    message.count(monitor.id);
    message.ascii(',"version":');
    message.count(monitor.version);
    message.ascii(',"slot":');
    message.count(slot);
    message.ascii(',"token":"');
    message.ascii(tokens.tokenOf(monitor.id, region, slot));
    if (waitMs > 0) {
      message.ascii('","wait_ms":');
      message.count(waitMs);
      message.ascii(',"start_within_ms":');
    } else message.ascii('","start_within_ms":');
    const leftMs = Math.min(startBy, startAt + this.#startWithinMs) - Math.max(now, startAt);
    message.count(Math.max(0, Math.ceil(leftMs)));
    message.ascii(slowChecks.has(key) ? ',"slow":true,"check":' : ',"check":');
    message.text(monitor.checkText.reveal());
    message.ascii('}');
  }

  /**
   * Sends the message with the jobs from index `from` up to, but not including, `until`.
   *
   * @returns false when the connection is gone; the jobs from `from` on are queued again
   */
  #send(region: Region, queued: readonly Job[], from: number, until: number, now: number): boolean {
    const { bus, log, jobs, counters } = this.#parts;
    this.#message.ascii(MESSAGE_END);
    try {
      const index = regionIndex(region);
      this.#subjects[index] ??= jobsSubject(region);
      bus.publish(this.#subjects[index], this.#message.copy());
    } catch (error) {
      if (!bus.isConnected) {
        jobs.putBackJobs(queued.slice(from));
        return false;
      }
      // The message is larger than this server allows; another try would not help.
      log.error({ region, jobs: until - from, error: messageOf(error) }, 'cannot publish jobs');
      for (let index = from; index < until; index += 1) jobs.giveUpUnpublishable(queued[index] as Job);
      return true;
    }
    counters.messages += 1;
    for (let index = from; index < until; index += 1) jobs.jobPublished(queued[index] as Job, now);
    return true;
  }
}

/**
 * The pairs of monitor and region in which the last attempt timed out. Their jobs are marked, because an
 * agent gives such checks at most half of its capacity. The set is not stored: after a start, the first
 * result of each check restores it.
 */
export class SlowChecks {
  /** The `jobKey` of each pair of monitor and region. */
  readonly #slow = new Set<number>();
  readonly #regions: readonly Region[];

  /** @param regions the regions of the installation */
  constructor(regions: readonly Region[]) {
    this.#regions = regions;
  }

  /** Whether the last attempt timed out for this `jobKey`. */
  has(key: number): boolean {
    return this.#slow.has(key);
  }

  markCheck(key: number, timedOut: boolean): void {
    if (timedOut) this.#slow.add(key);
    else if (this.#slow.size > 0) this.#slow.delete(key);
  }

  /** Forgets a monitor that was removed, or whose probed attributes changed. */
  forgetMonitor(monitorId: number): void {
    if (this.#slow.size === 0) return;
    for (const region of this.#regions) this.#slow.delete(jobKey(monitorId, region));
  }
}
