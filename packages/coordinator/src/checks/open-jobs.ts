import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import { REGION_INDEXES, regionIndex } from '../verdict/region-set.ts';
import type { SlotEvents } from '../verdict/slots.ts';
import { type Due, DueQueue } from './due-queue.ts';

/**
 * A region counts as silent when its result is missing this long after the longest possible check, ms. This
 * time covers waiting in the agent, reporting and transport.
 */
const SILENT_AFTER_MS = 10_000;
/**
 * Longest time from {@link Job.startAt} to the beginning of a check, ms, unless a third of its period is
 * shorter.
 */
const MOST_LATE_MS = 10_000;
/**
 * Maximum number of remembered slots whose result came without an open job. When there would be more, all of
 * them are forgotten first.
 */
const MOST_UNASKED = 100_000;
/** Time after which a silent job is judged again if the region's results are not all read yet, ms. */
const UNREAD_AGAIN_MS = 1_000;

/**
 * One check in one region, from the opening of its slot until it is over (see {@link OpenJobs}). `dueAt` is
 * the instant at which the region's silence is judged. All instants but `slot` are monotonic ms.
 */
export type Job = Due & {
  /** The monitor as declared when the slot was opened. */
  readonly monitor: LiveMonitor;
  /** Epoch ms. */
  readonly slot: number;
  readonly region: Region;
  /** See {@link jobKey}. */
  readonly key: number;
  /** Until this instant the region may be asked once more: half a period after the slot. */
  readonly askableUntil: number;
  /**
   * Earliest instant at which the check begins, even if the job is published earlier: the slot, or the
   * instant at which the job was queued if that is later.
   */
  startAt: number;
  /** Latest instant at which the check may begin. */
  startBy: number;
  /** From this instant on the region counts as silent. Infinite: the job is not published yet. */
  silentAt: number;
  /** Whether the region was asked once more. */
  isAskedAgain: boolean;
  isPublished: boolean;
  /** Whether the job is removed. */
  isOver: boolean;
};

export type OpenJobsParts = {
  events: SlotEvents;
  counters: DispatchCounters;
  /** Whether the region has an agent that takes jobs. */
  isLive: (region: Region) => boolean;
  /**
   * Whether all results that the region's stream held up to 1.5 s ago are recorded, and were reported to
   * {@link OpenJobs}. The first call may return false, because the state of the stream is not known yet.
   */
  readerCaughtUp: (region: Region) => boolean;
  /**
   * Whether results wait for seconds before they are recorded, so that an unanswered check may have ended
   * long ago.
   */
  isBehind: () => boolean;
};

/**
 * The jobs that regions are asked to run and have not answered: at most one per monitor and region. A job is
 * a message that may be lost, and agents do not confirm it.
 *
 *     open ──▶ queued ──published──▶ asked ──the region has answered──▶ over
 *               │  ▲                   │
 *               │  └── once more ◀── silent, lost or given back ──▶ the region abstains
 *               │                                                          ▲
 *               └── too late to begin, or cannot be published ─────────────┘
 *
 * A job is also over when a job of a later slot is opened, and when the declaration changes so that its
 * result would not count.
 *
 * A region is silent when its longest possible check and 10 s are over. The region is asked a second time,
 * but not later than half a period after the slot, and only while it has a live agent. An agent ignores a job
 * that it holds or has finished lately. Another agent of the region does not know which jobs the first agent
 * holds. So in a region with several agents, a job that was not lost may run twice, and only one of its
 * results counts.
 */
export class OpenJobs {
  readonly #parts: OpenJobsParts;
  readonly #jobs = new Map<number, Job>();
  /** Jobs that wait to be published, by the region's index. */
  readonly #queued: Job[][] = [];
  /** Published jobs in the order in which their silence is judged, by the region's index. */
  readonly #asked: (DueQueue<Job> | undefined)[] = [];

  /**
   * For each monitor and region (by `jobKey`), the slot of the last result that came while no job of its slot
   * was open: a result of a job from before the start, a late result, or a repeated one.
   */
  readonly #unasked = new Map<number, number>();

  constructor(parts: OpenJobsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#jobs.size;
  }

  get(monitorId: number, region: Region): Job | undefined {
    return this.#jobs.get(jobKey(monitorId, region));
  }

  values(): Iterable<Job> {
    return this.#jobs.values();
  }

  /**
   * Opens a job: the region is asked next. A job of an earlier slot ends. If the region's last result without
   * an open job was about this slot, no job is opened.
   *
   * @param slotAt the slot's instant, monotonic ms; it may lie ahead or in the past
   */
  openJob(monitor: LiveMonitor, slot: number, region: Region, slotAt: number, now: number): void {
    const key = jobKey(monitor.id, region);
    const before = this.#jobs.get(key);
    if (before !== undefined) this.#endJob(before);
    if (this.#unasked.get(key) === slot) return;
    const startAt = Math.max(now, slotAt);
    const job: Job = {
      monitor,
      slot,
      region,
      key,
      askableUntil: slotAt + monitor.periodMs / 2,
      startAt,
      startBy: startAt + mostLateMs(monitor),
      silentAt: Number.POSITIVE_INFINITY,
      isAskedAgain: false,
      isPublished: false,
      isOver: false,
      dueAt: 0,
      queueIndex: -1,
    };
    this.#jobs.set(key, job);
    this.#queuedIn(region).push(job);
  }

  /** Whether a check of the monitor probably still runs in the region. */
  isRunning(monitorId: number, region: Region, now: number): boolean {
    const job = this.get(monitorId, region);
    return job !== undefined && now < job.silentAt && !this.#parts.isBehind();
  }

  /**
   * Removes the region's jobs from the queue and returns the jobs that are to be published now, in the order
   * in which they were queued. A job that may not begin any more, mostly because there was no connection, is
   * given up.
   */
  takeQueuedJobs(region: Region, now: number): Job[] {
    const taken: Job[] = [];
    const index = regionIndex(region);
    const queued = this.#queuedIn(region);
    if (queued.length === 0) return taken;
    this.#queued[index] = [];
    for (const job of queued) {
      if (job.isOver) continue;
      if (now >= job.startBy) this.#abstain(job, 'no-agent');
      else taken.push(job);
    }
    return taken;
  }

  /** Queues the jobs again, because there is no connection. */
  putBackJobs(jobs: readonly Job[]): void {
    for (const job of jobs) this.#queuedIn(job.region).push(job);
  }

  /** Called when the job was sent: from now on the region's silence is judged. */
  jobPublished(job: Job, now: number): void {
    const { asked } = this.#parts.counters;
    if (job.isAskedAgain) asked.again += 1;
    else asked.first += 1;
    job.isPublished = true;
    job.silentAt = Math.max(now, job.startAt) + job.monitor.longestCheckMs + SILENT_AFTER_MS;
    this.#askedIn(job.region).set(job, job.silentAt);
  }

  /** Ends a job that cannot be published even with a connection. */
  giveUpUnpublishable(job: Job): void {
    this.#abstain(job, 'internal-error');
  }

  /**
   * Handles a region's result that was read. If no job of its slot is open, the slot is remembered: the
   * result may answer a job from before the start, and then the region is not asked about the slot.
   */
  resultArrived(monitorId: number, slot: number, region: Region): void {
    const job = this.#jobOfSlot(monitorId, slot, region);
    if (job !== undefined) this.#endJob(job);
    else {
      if (this.#unasked.size >= MOST_UNASKED) this.#unasked.clear();
      this.#unasked.set(jobKey(monitorId, region), slot);
    }
  }

  /** Called when the region's answer is recorded. */
  answerRecorded(monitorId: number, slot: number, region: Region): void {
    const job = this.#jobOfSlot(monitorId, slot, region);
    if (job !== undefined) this.#endJob(job);
  }

  /** Whether the region is asked once more if its agent gives the job back unrun. */
  isAskedAgain(monitorId: number, slot: number, region: Region, now: number): boolean {
    const job = this.#jobOfSlot(monitorId, slot, region);
    return job !== undefined && this.#isAskable(job, now);
  }

  /** Called when it is recorded that the agent has given the job back without running it. */
  jobGivenBack(monitorId: number, slot: number, region: Region, now: number): void {
    const job = this.#jobOfSlot(monitorId, slot, region);
    // The region was asked a second time before the return of the first job was recorded. It may still answer
    // the second job.
    if (job !== undefined && !job.isAskedAgain) this.#askAgain(job, now);
  }

  /**
   * Makes the region count as silent for all its published jobs, because an agent is
   * gone or the connection was lost.
   */
  loseJobs(region: Region, now: number): void {
    for (const job of this.#jobs.values()) {
      if (job.region !== region || !job.isPublished) continue;
      job.silentAt = now;
      this.#askedIn(region).set(job, now);
    }
  }

  /** Ends the open job: the probed attributes changed, or the region no longer checks this monitor. */
  withdrawJob(monitorId: number, region: Region): void {
    const job = this.get(monitorId, region);
    if (job !== undefined) this.#endJob(job);
  }

  /**
   * Asks silent regions once more, or gives their jobs up. Called in every tick in which silence can be
   * judged.
   */
  judgeSilentJobs(now: number): void {
    for (const asked of this.#asked) {
      if (asked === undefined) continue;
      for (let job = asked.peek(); job !== undefined && job.dueAt <= now; job = asked.peek()) {
        // The job's result may still be unread in the stream.
        if (!this.#parts.readerCaughtUp(job.region)) asked.set(job, now + UNREAD_AGAIN_MS);
        else {
          this.#parts.counters.jobsLost += 1;
          this.#askAgain(job, now);
        }
      }
    }
  }

  #isAskable(job: Job, now: number): boolean {
    return !job.isAskedAgain && now <= job.askableUntil && this.#parts.isLive(job.region);
  }

  #askAgain(job: Job, now: number): void {
    if (!this.#isAskable(job, now)) {
      this.#abstain(job, 'job-lost');
      return;
    }
    this.#askedIn(job.region).delete(job);
    job.isAskedAgain = true;
    job.isPublished = false;
    job.startAt = now;
    job.startBy = now + mostLateMs(job.monitor);
    job.silentAt = Number.POSITIVE_INFINITY;
    this.#queuedIn(job.region).push(job);
  }

  #abstain(job: Job, reason: NotRunReason & keyof DispatchCounters['abstained']): void {
    this.#parts.counters.abstained[reason] += 1;
    this.#endJob(job);
    this.#parts.events.abstained(job.monitor, job.slot, job.region, reason);
  }

  #endJob(job: Job): void {
    job.isOver = true;
    this.#askedIn(job.region).delete(job);
    if (this.#jobs.get(job.key) === job) this.#jobs.delete(job.key);
  }

  #jobOfSlot(monitorId: number, slot: number, region: Region): Job | undefined {
    const job = this.get(monitorId, region);
    return job?.slot === slot ? job : undefined;
  }

  #queuedIn(region: Region): Job[] {
    const index = regionIndex(region);
    this.#queued[index] ??= [];
    return this.#queued[index];
  }

  #askedIn(region: Region): DueQueue<Job> {
    const index = regionIndex(region);
    this.#asked[index] ??= new DueQueue<Job>();
    return this.#asked[index];
  }
}

function mostLateMs({ periodMs }: LiveMonitor): number {
  return Math.min(MOST_LATE_MS, periodMs / 3);
}

/** A number that identifies the pair of the monitor and the region. */
export function jobKey(monitorId: number, region: Region): number {
  return monitorId * REGION_INDEXES + regionIndex(region);
}
