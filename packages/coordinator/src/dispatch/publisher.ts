import type { Bus } from '@svc/shared/bus.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { Logger } from '@svc/shared/log.ts';
import { jobsSubject, MESSAGE_VERSION, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { Agents } from './agents.ts';
import type { DispatchCounters } from './counters.ts';
import type { InFlight } from './in-flight.ts';
import { type Job, regionIndex } from './job.ts';
import type { JobTokens } from './job-tokens.ts';
import type { SlowChecks } from './slow-checks.ts';

/** Bytes around the jobs of a batch, with room to spare. */
const ENVELOPE_BYTES = 256;

export type PublisherParts = {
  bus: Bus;
  log: Logger;
  agents: Pick<Agents, 'understand'>;
  inFlight: InFlight;
  tokens: JobTokens;
  slowChecks: SlowChecks;
  counters: DispatchCounters;
  /** Called when the server said that nobody takes jobs in the region. */
  onNoResponders: (region: Region) => void;
};

const ROLL_CALL = `{"v":${MESSAGE_VERSION},"kind":"roll_call"}`;

type Batch = {
  jobs: Job[];
  text: string;
  /** Upper bound on the size of the text. */
  bytes: number;
};

const newBatch = (): Batch => ({ jobs: [], text: '', bytes: ENVELOPE_BYTES });

/**
 * Sends queued jobs to their regions.
 *
 * A message holds up to 512 jobs and 256 KiB (one larger job goes alone), with the subject for their results,
 * and goes out ahead of the slots with the time to wait. Each of the three applies only where every agent of
 * the region understands it. Otherwise a message holds up to 64 jobs, and goes out when their slots have
 * come. The text of a job is put around the monitor's part, which was encoded when the monitor was declared.
 *
 * Every message carries a reply subject below one inbox, only so that the server reports at once when a
 * region has no agent.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #subjects = REGIONS.map(jobsSubject);
  #replies: readonly string[] = [];
  #nextBatch = 1;
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
    for (const region of REGIONS) {
      if (!bus.isConnected) return;
      if (inFlight.queued(region).size > 0) this.#publishRegion(region, now);
    }
  }

  #publishRegion(region: Region, now: number): void {
    const { agents, inFlight } = this.#parts;
    const mostJobs = agents.understand(region, 'large-batches')
      ? LIMITS.jobsPerMessage
      : LIMITS.smallJobsPerMessage;
    const aheadMs = agents.understand(region, 'jobs-ahead') ? LIMITS.jobAheadMs : 0;
    let batch = newBatch();
    for (const job of inFlight.queued(region)) {
      if (job.boundAt <= now || job.startAt > now + aheadMs) continue;
      const checkText = job.monitor.checkText.reveal();
      const head = this.#headOf(job, now);
      const bytes = head.length + Buffer.byteLength(checkText) + 2;
      const isFull = batch.jobs.length === mostJobs || batch.bytes + bytes > LIMITS.messageBytes;
      if (isFull && batch.jobs.length > 0) {
        if (!this.#send(region, batch, now)) return;
        batch = newBatch();
      }
      // Appended in pieces: joining a job's text first would copy it twice.
      if (batch.jobs.length > 0) batch.text += ',';
      batch.text += head;
      batch.text += checkText;
      batch.text += '}';
      batch.bytes += bytes;
      batch.jobs.push(job);
    }
    if (batch.jobs.length > 0) this.#send(region, batch, now);
  }

  /** @returns false when the connection is gone; the jobs stay queued */
  #send(region: Region, { jobs, text }: Batch, now: number): boolean {
    const { bus, log, agents, inFlight, counters } = this.#parts;
    const index = regionIndex(region);
    const results = agents.understand(region, 'results-subject')
      ? `"results":"${resultsSubject(region)}",`
      : '';
    const message = `{"v":${MESSAGE_VERSION},"kind":"jobs","batch":"${this.#nextBatch}",${results}"jobs":[${text}]}`;
    this.#nextBatch += 1;
    try {
      bus.publish(this.#subjects[index] as string, message, { reply: this.#replies[index] as string });
    } catch (error) {
      if (!bus.isConnected) return false;
      // The message is larger than this server allows; another try would not help.
      log.error({ region, jobs: jobs.length, error: messageOf(error) }, 'cannot publish jobs');
      for (const job of jobs) inFlight.unpublishable(job);
      return true;
    }
    counters.messages += 1;
    for (const job of jobs) inFlight.markOffered(job, now);
    return true;
  }

  /** The part of the job's text before the monitor's part. */
  #headOf(job: Job, now: number): string {
    const { monitor, region, slot, key, startAt, boundAt } = job;
    const { tokens, slowChecks } = this.#parts;
    job.token ??= tokens.tokenOf(monitor.id, region, slot);
    const slow = slowChecks.has(key) ? ',"slow":true' : '';
    // Rounded up: a check never starts before its slot.
    const waitMs = Math.max(0, Math.ceil(startAt - now));
    const wait = waitMs > 0 ? `"wait_ms":${waitMs},` : '';
    const startWithinMs = Math.ceil(boundAt - Math.max(now, startAt));
    return `{"monitor":${monitor.id},"version":${monitor.version},"slot":${slot},"token":"${job.token}",${wait}"start_within_ms":${startWithinMs}${slow},"check":`;
  }
}
