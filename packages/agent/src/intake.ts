import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  type CheckJob,
  checkJob,
  type JobBatch,
  type JobsMessage,
  jobsMessage,
  type RunNow,
} from '@svc/shared/messages/check-job.ts';
import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { RunOutcome } from '@svc/shared/messages/heartbeat.ts';
import {
  AGENT_QUEUE,
  isResultsSubjectOf,
  jobsSubject,
  MESSAGE_VERSION,
  runSubject,
} from '@svc/shared/messages/subjects.ts';
import type { AGENT_COUNTERS } from '@svc/shared/metrics/agent-instruments.ts';
import type { LabelValue } from '@svc/shared/metrics/instrument.ts';
import type { Bus, BusMessage, BusSubscription } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';
import { notAttempted } from './check-run.ts';
import type { HeldJobs } from './held-jobs.ts';
import type { DropReason, Metrics } from './metrics.ts';
import { jobOf, type Runner } from './runner.ts';
import type { Starvation } from './starvation.ts';

/**
 * Maximum number of jobs whose slot has come, as a multiple of the agent's concurrency. A job counts
 * while it is queued, while it is attempted, and while it waits between two attempts. A check by
 * hand counts while it is attempted.
 */
const JOBS_PER_PLACE = 4;

/**
 * Maximum number of jobs that an agent holds. Jobs whose slot lies ahead count, and
 * so do jobs with a result other than `not_run` that is not acknowledged.
 */
const MAX_HELD_JOBS = 16_000;

/**
 * Limit on the total size of the held jobs in their messages, bytes. At this size, no further job
 * is taken. A job may have a request body of 256 KiB, but most jobs have half a kilobyte.
 */
const MOST_HELD_BYTES = 64 * 1_024 * 1_024;

/** The reason in the result of a job that was not taken, by the cause. Null: no result is reported. */
const REASONS = {
  held: null,
  finished: null,
  full: 'overloaded',
  draining: 'shutting-down',
  unsupported: 'unsupported',
} satisfies Record<LabelValue<typeof AGENT_COUNTERS.refused>, NotRunReason | null>;

type Refusal = keyof typeof REASONS;

type IntakeParts = {
  bus: Bus;
  region: Region;
  agentId: string;
  concurrency: number;
  runner: Pick<Runner, 'submit' | 'runNow' | 'turnedAway' | 'running' | 'pending' | 'ahead'>;
  held: HeldJobs;
  starvation: Pick<Starvation, 'recentStall'>;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
  /**
   * Called with the `not_run` result of each refused job, unless the agent holds or has finished the
   * same job. `subject` is the subject for results that the job's batch names.
   */
  onResult: (result: CheckResult, subject: string) => void;
};

/**
 * Takes jobs from the region's subject. A taken job is not acknowledged. A job
 * that cannot be taken is reported as `not_run` at once, unless the agent holds or has
 * finished the same job. A check by hand (`run_now`) is run at once and answered.
 *
 * Unreadable messages and jobs are dropped, counted and logged. So are batches that
 * name another region's subject for results. No message stops the intake.
 */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #warnings: ThrottledLog;
  readonly #lateReading: LateReading;
  #subscription: BusSubscription | null = null;
  #isDraining = false;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    this.#warnings = new ThrottledLog(parts.log, parts.clock);
    this.#lateReading = new LateReading({ stallMs: () => parts.starvation.recentStall });
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  start(): void {
    const { bus, region } = this.#parts;
    this.#subscription = bus.subscribe(jobsSubject(region), (message) => this.#onMessage(message), {
      queue: AGENT_QUEUE,
    });
  }

  /**
   * Stops taking jobs. New jobs that still arrive are reported as `not_run:
   * shutting-down`, so that the region's other agents get them. Resolves when all
   * messages that NATS had already sent are read, but after `withinMs` at the latest.
   */
  async stop(withinMs: number): Promise<void> {
    this.#isDraining = true;
    const subscription = this.#subscription;
    this.#subscription = null;
    if (subscription === null) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.clock.after(withinMs, resolve);
      void subscription.drain().then(() => {
        cancel();
        resolve();
      });
    });
    subscription.close();
  }

  #onMessage(message: BusMessage): void {
    const receivedAt = this.#parts.clock.monotonic();
    const read = readJobsMessage(message.data);
    if (typeof read === 'string') {
      this.#dropMessage(message, read);
      return;
    }
    switch (read.kind) {
      case 'jobs':
        // A publisher could name another region's subject, to receive results that it may not read.
        if (!isResultsSubjectOf(this.#parts.region, read.results)) {
          this.#dropMessage(message, 'foreign-results');
        } else {
          this.#onBatch(read, receivedAt, Math.ceil(message.data.length / read.jobs.length));
        }
        return;
      case 'run_now':
        void this.#onRunNow(read);
        return;
      default:
        read satisfies never;
    }
  }

  #dropMessage(message: BusMessage, reason: DropReason): void {
    this.#parts.metrics.droppedMessages[reason] += 1;
    this.#warnings.warn('dropped a message on the jobs subject', { reason, bytes: message.data.length });
  }

  #onBatch(batch: JobBatch, receivedAt: number, bytesPerJob: number): void {
    const { metrics, held, runner, clock, onResult } = this.#parts;
    const taken: CheckJob[] = [];
    /** Number of jobs taken from this batch whose slot has come. */
    let takenNow = 0;
    for (const value of batch.jobs) {
      const read = readJob(value);
      if (read.is === 'invalid') {
        metrics.droppedJobs += 1;
        this.#warnings.warn('dropped a job that cannot be read', { job: read.key });
        continue;
      }
      const refusal = this.#refusalOf(read.job, takenNow);
      if (refusal === null && read.is === 'job') {
        metrics.accepted += 1;
        held.holdJob(read.job.monitor, read.job.slot, bytesPerJob);
        taken.push(read.job);
        if ((read.job.wait_ms ?? 0) === 0) takenNow += 1;
        continue;
      }
      const kind = refusal ?? 'unsupported';
      metrics.refused[kind] += 1;
      if (kind === 'full') runner.turnedAway();
      const reason = REASONS[kind];
      // A held job will have a result, and a finished job has one, so no result is reported here.
      if (reason !== null)
        onResult({ ...jobOf(read.job), ...notAttempted(reason, clock.wall()) }, batch.results);
    }
    const arrivedAt = receivedAt - this.#unreadMs(taken, receivedAt);
    for (const job of taken) runner.submit(job, arrivedAt, batch.results);
  }

  /**
   * The time for which the message of the taken jobs lay unread, ms. It is 0 when the slots
   * of all these jobs had come before the message was sent, because the time is then unknown.
   */
  #unreadMs(jobs: readonly CheckJob[], receivedAt: number): number {
    const ahead = jobs.find(({ wait_ms }) => wait_ms !== undefined);
    if (ahead?.wait_ms === undefined) return 0;
    return this.#lateReading.of(ahead.slot - ahead.wait_ms, receivedAt);
  }

  #refusalOf({ monitor, slot }: Omit<CheckJob, 'check'>, takenFromBatch: number): Refusal | null {
    const { held, runner, concurrency } = this.#parts;
    const state = held.stateOf(monitor, slot);
    if (state !== 'unknown') return state;
    if (this.#isDraining) return 'draining';
    // Taken jobs whose slot lies ahead do not count, because they need no place yet. The bounds on held
    // jobs limit their number.
    const jobs = runner.running + runner.pending - runner.ahead + takenFromBatch;
    const isFull =
      held.size >= MAX_HELD_JOBS || held.bytes >= MOST_HELD_BYTES || jobs >= JOBS_PER_PLACE * concurrency;
    return isFull ? 'full' : null;
  }

  async #onRunNow(request: RunNow): Promise<void> {
    const { bus, region, runner, agentId: agent } = this.#parts;
    const result = await runner.runNow(request.check);
    const answer: RunOutcome = { v: MESSAGE_VERSION, kind: 'run_outcome', agent, result };
    try {
      bus.publish(runSubject(region, request.run), JSON.stringify(answer));
    } catch (error) {
      // While the connection is down, the result is lost, and the coordinator counts the region as silent.
      this.#warnings.warn('could not answer a check by hand', { error: messageOf(error) });
    }
  }
}

/**
 * Maximum size of a message, bytes. Larger messages are dropped unread. A batch has at most a quarter
 * of this size, unless it consists of one large job. NATS has the same limit by default.
 */
const MAX_MESSAGE_BYTES = 1_024 * 1_024;

const utf8 = new TextDecoder();

/** Reads a message of the jobs subject. If the message cannot be read, returns the reason. */
export function readJobsMessage(data: Uint8Array): JobsMessage | DropReason {
  if (data.length > MAX_MESSAGE_BYTES) return 'oversized';
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(data));
  } catch {
    // The error is dropped, because the reason `not-json` says enough.
    return 'not-json';
  }
  const parsed = jobsMessage.safeParse(value);
  return parsed.success ? parsed.data : 'invalid';
}

/**
 * A job of a batch as it was read. `job`: the whole job is readable. `unsupported`: only its check
 * is not readable, for example because this agent does not know the kind of check. `invalid`: another
 * member is not readable; `key` names the job, or is null if the key is not readable either.
 */
type ReadJob =
  | { is: 'job'; job: CheckJob }
  | { is: 'unsupported'; job: Omit<CheckJob, 'check'> }
  | { is: 'invalid'; key: [monitor: number, slot: number] | null };

const head = checkJob.omit({ check: true });
const jobKey = checkJob.pick({ monitor: true, slot: true });

/** Reads one job of a batch. It never throws. */
export function readJob(value: unknown): ReadJob {
  const job = checkJob.safeParse(value);
  if (job.success) return { is: 'job', job: job.data };
  const readable = head.safeParse(value);
  if (readable.success) return { is: 'unsupported', job: readable.data };
  const key = jobKey.safeParse(value);
  return { is: 'invalid', key: key.success ? [key.data.monitor, key.data.slot] : null };
}

/**
 * Length of a span, ms. The quickest message of the current
 * and the previous span shows how long a transfer takes.
 */
const SPAN_MS = 30_000;

type Parts = {
  /** Returns the longest time for which the event loop can have stood still recently, ms. */
  readonly stallMs: () => number;
};

/**
 * Measures how long a message was not read because the event loop was busy. The waits in a message
 * begin at its arrival, so an agent that reads a message late must not begin the checks late.
 *
 * Each message is compared with the quickest recent message. Senders' clocks stamped both, so the
 * agent's clock need not agree with them. If the clocks of several coordinators differ, the difference
 * counts as delay. But the measured delay is at most the time for which the event loop can have stood
 * still. So an idle agent measures almost no delay, whatever the senders' clocks show.
 */
export class LateReading {
  readonly #parts: Parts;
  /**
   * Duration of the quickest transfer in the current span, ms; infinity before the span's first message.
   * It is a difference between two clocks, so only differences between durations mean something.
   */
  #quickest = Number.POSITIVE_INFINITY;
  /** The same for the previous span. */
  #quickestBefore = Number.POSITIVE_INFINITY;
  #spanUntil = Number.NEGATIVE_INFINITY;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Records a message, and returns the time for which it was unread, ms.
   *
   * @param sentAt when the message was sent, epoch ms on the sender's clock
   * @param readAt monotonic ms
   */
  of(sentAt: number, readAt: number): number {
    if (readAt >= this.#spanUntil) {
      // A span before a long pause is not used, because the clocks may have drifted apart since.
      const isLongAgo = readAt >= this.#spanUntil + SPAN_MS;
      this.#quickestBefore = isLongAgo ? Number.POSITIVE_INFINITY : this.#quickest;
      this.#quickest = Number.POSITIVE_INFINITY;
      this.#spanUntil = readAt + SPAN_MS;
    }
    const way = readAt - sentAt;
    this.#quickest = Math.min(this.#quickest, way);
    return Math.min(way - Math.min(this.#quickest, this.#quickestBefore), this.#parts.stallMs());
  }
}
