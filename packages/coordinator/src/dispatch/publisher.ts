import type { Bus } from '@svc/shared/bus.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { Logger } from '@svc/shared/log.ts';
import { jobsSubject, MESSAGE_VERSION, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { TextBytes } from '@svc/shared/text-bytes.ts';
import type { Agents } from './agents.ts';
import type { DispatchCounters } from './counters.ts';
import type { InFlight } from './in-flight.ts';
import { type Job, regionIndex } from './job.ts';
import type { JobTokens } from './job-tokens.ts';
import type { Overload } from './overload.ts';
import type { SlowChecks } from './slow-checks.ts';

/** End of a message of jobs. */
const MESSAGE_END = ']}';

export type PublisherParts = {
  bus: Bus;
  log: Logger;
  agents: Pick<Agents, 'understand'>;
  inFlight: InFlight;
  slowChecks: SlowChecks;
  tokens: Pick<JobTokens, 'tokenOf'>;
  counters: DispatchCounters;
  overload: Pick<Overload, 'startWithinMs'>;
  /** Called when the server said that nobody takes jobs in the region. */
  onNoResponders: (region: Region) => void;
};

const ROLL_CALL = `{"v":${MESSAGE_VERSION},"kind":"roll_call"}`;

/**
 * Sends queued jobs to their regions.
 *
 * A message holds up to 512 jobs and 256 KiB (one larger job goes alone), with the subject for their results.
 * It goes out ahead of the slots with the time to wait, where every agent of the region understands that. The
 * bytes of a job are put around the monitor's part, which was encoded when the monitor was declared.
 *
 * Every message carries a reply subject below one inbox, only so that the server reports at once when a
 * region has no agent.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #subjects = REGIONS.map(jobsSubject);
  /** The message that is put together. */
  readonly #message = new TextBytes(2 * LIMITS.messageBytes);
  #replies: readonly string[] = [];
  #nextBatch = 1;
  /** Of the message's region. */
  #startWithinMs = 0;
  #stopListening: () => void = () => {};

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  start(): void {
    const { bus } = this.#parts;
    const inbox = bus.inbox();
    this.#replies = REGIONS.map((_, index) => `${inbox}.${index}`);
    const subscription = bus.subscribe(`${inbox}.*`, (message) => {
      const region = REGIONS[Number(message.subject.slice(inbox.length + 1))];
      if (region === undefined || !message.isNoResponders) return;
      this.#parts.counters.messagesUnheard += 1;
      this.#parts.onNoResponders(region);
    });
    this.#stopListening = () => subscription.close();
  }

  stop(): void {
    this.#stopListening();
  }

  /** Asks the agents of the region to report; they answer with heartbeats. Does nothing while disconnected. */
  callRoll(region: Region): void {
    const { bus } = this.#parts;
    if (bus.isConnected) bus.publish(this.#subjects[regionIndex(region)] as string, ROLL_CALL);
  }

  /** Publishes queued jobs. Does nothing while disconnected: the jobs wait within their bounds. */
  publish(now: number): void {
    const { bus, inFlight } = this.#parts;
    if (!inFlight.hasQueued) return;
    for (const region of REGIONS) {
      if (!bus.isConnected) return;
      if (inFlight.queued(region).size > 0) this.#publishRegion(region, now);
    }
  }

  #publishRegion(region: Region, now: number): void {
    const { agents, inFlight } = this.#parts;
    const aheadMs = agents.understand(region, 'jobs-ahead') ? LIMITS.jobAheadMs : 0;
    let jobs: Job[] = [];
    const queued = inFlight.queued(region).all();
    for (let index = 0; index < queued.length; index += 1) {
      const job = queued[index] as Job;
      if (job.state !== 'queued' || job.boundAt <= now || job.startAt > now + aheadMs) continue;
      if (jobs.length === LIMITS.jobsPerMessage) {
        if (!this.#send(region, jobs, now)) return;
        jobs = [];
      }
      if (!this.#append(job, jobs.length, now)) {
        if (!this.#send(region, jobs, now)) return;
        jobs = [];
        this.#append(job, 0, now);
      }
      jobs.push(job);
    }
    if (jobs.length > 0) this.#send(region, jobs, now);
  }

  /**
   * Appends a job to the message, which it begins when it is the first.
   *
   * @param before jobs in the message
   * @returns false, with nothing appended: the message would be too long. Never for the first job
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
    const results = `"results":"${resultsSubject(region)}",`;
    this.#startWithinMs = this.#parts.overload.startWithinMs(region);
    message.cut(0);
    message.ascii(`{"v":${MESSAGE_VERSION},"kind":"jobs","batch":"${this.#nextBatch}",${results}"jobs":[`);
    this.#nextBatch += 1;
  }

  #write(job: Job, now: number): void {
    const message = this.#message;
    const { monitor, slot, region, key, startAt, boundAt } = job;
    const { slowChecks, tokens } = this.#parts;
    // Rounded up: a check never starts before its slot.
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
    const leftMs = Math.min(boundAt, startAt + this.#startWithinMs) - Math.max(now, startAt);
    message.count(Math.max(0, Math.ceil(leftMs)));
    message.ascii(slowChecks.has(key) ? ',"slow":true,"check":' : ',"check":');
    message.text(monitor.checkText.reveal());
    message.ascii('}');
  }

  /** @returns false when the connection is gone; the jobs stay queued */
  #send(region: Region, jobs: readonly Job[], now: number): boolean {
    const { bus, log, inFlight, counters } = this.#parts;
    const index = regionIndex(region);
    this.#message.ascii(MESSAGE_END);
    try {
      const reply = this.#replies[index] as string;
      bus.publish(this.#subjects[index] as string, this.#message.copy(), { reply });
    } catch (error) {
      if (!bus.isConnected) return false;
      // The message is larger than this server allows; another try would not help.
      log.error({ region, jobs: jobs.length, error: messageOf(error) }, 'cannot publish jobs');
      for (const job of jobs) inFlight.unpublishable(job);
      return true;
    }
    counters.messages += 1;
    for (let index = 0; index < jobs.length; index += 1) inFlight.markOffered(jobs[index] as Job, now);
    return true;
  }
}
