import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import type { SlotEvents } from '../verdict/slots.ts';
import { type Due, DueQueue } from './due-queue.ts';
import { jobKey, regionIndex } from './job.ts';

/** Time beyond its longest possible check after which a region counts as silent, ms: waiting, reporting, the way. */
const SILENT_AFTER_MS = 10_000;
/** Longest time after its slot in which a check may begin, ms. */
const MOST_LATE_MS = 10_000;
/** Most reports that are remembered although the region was not asked. */
const MOST_UNASKED = 100_000;
/** A region whose results are not read is looked at again after so long, ms. */
const UNREAD_AGAIN_MS = 1_000;

/**
 * One check in one region, from the opening of its slot until the region has answered. `dueAt`: when its silence is judged.
 * All instants are monotonic ms.
 */
export type Job = Due & {
  /** The monitor as declared when the slot was opened. */
  readonly monitor: LiveMonitor;
  readonly slot: number;
  readonly region: Region;
  readonly key: number;
  /** Until then the region may be asked once more: half of the slot's period. */
  readonly askableUntil: number;
  /** The slot, or when it was asked: the check begins then, even if the job is published earlier. */
  startAt: number;
  /** After it the check does not begin any more. */
  startBy: number;
  /** When the region counts as silent. */
  silentAt: number;
  /** Whether it was asked once more. */
  isAskedAgain: boolean;
  isPublished: boolean;
  /** It is not in the table any more. */
  isOver: boolean;
};

export type OpenJobsParts = {
  events: SlotEvents;
  counters: DispatchCounters;
  /** Whether the region has an agent that takes jobs. */
  isLive: (region: Region) => boolean;
  /**
   * Whether all results that the region's stream held a moment ago were reported to {@link OpenJobs.answerRecorded}. It may
   * answer no at first and find out in the meantime.
   */
  readerCaughtUp: (region: Region) => boolean;
  /** Whether results lie unread for seconds, so that a check without an answer may have ended long ago. */
  isBehind: () => boolean;
};

/**
 * What regions were asked and have not answered: at most one job per monitor and region. A job is a message that may be
 * lost, and nobody says that he took it.
 *
 *     open ──▶ queued ──published──▶ asked ──the region has answered──▶ over
 *                 ▲                   │
 *                 └── once more ◀── silent, lost or given back ──▶ the region abstains
 *
 * A region is silent when its longest possible check and 10 s are over. It is asked once more while half of the slot's
 * period is left. Agents refuse what they hold or have finished, so a job that was not lost runs once.
 */
export class OpenJobs {
  readonly #parts: OpenJobsParts;
  readonly #jobs = new Map<number, Job>();
  /** Jobs that wait to be published, per region in the fixed order. */
  readonly #queued: Job[][] = REGIONS.map(() => []);
  /** Published jobs by when their silence is judged, per region in the fixed order. */
  readonly #asked: readonly DueQueue<Job>[] = REGIONS.map(() => new DueQueue<Job>());

  /** The slot that the region reported last without being asked, by key. */
  readonly #unasked = new Map<number, number>();

  constructor(parts: OpenJobsParts) {
    this.#parts = parts;
  }

  get jobOf(): number {
    return this.#jobs.size;
  }

  get(monitorId: number, region: Region): Job | undefined {
    return this.#jobs.get(jobKey(monitorId, region));
  }

  values(): Iterable<Job> {
    return this.#jobs.values();
  }

  /**
   * Asks the region. Its job of an earlier slot, if there is one, is not waited for any more.
   *
   * @param slotAt the slot's instant, which may lie ahead or in the past
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

  /** Whether a check of the monitor still runs in the region, as far as is known. */
  isRunning(monitorId: number, region: Region, now: number): boolean {
    const job = this.get(monitorId, region);
    return job !== undefined && now < job.silentAt && !this.#parts.isBehind();
  }

  /**
   * Takes the jobs of the region that are to be published now, oldest first. Those whose time has passed while there was no
   * connection are given up.
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

  /** There is no connection: the jobs go on waiting to be published. */
  putBackJobs(jobs: readonly Job[]): void {
    for (const job of jobs) this.#queuedIn(job.region).push(job);
  }

  jobPublished(job: Job, now: number): void {
    const { asked } = this.#parts.counters;
    if (job.isAskedAgain) asked.again += 1;
    else asked.first += 1;
    job.isPublished = true;
    job.silentAt = Math.max(now, job.startAt) + job.monitor.longestCheckMs + SILENT_AFTER_MS;
    this.#askedIn(job.region).set(job, job.silentAt);
  }

  /** Ends a job that cannot be published at all. */
  giveUpUnpublishable(job: Job): void {
    this.#abstain(job, 'internal-error');
  }

  /**
   * The region's result is read. One that comes before the region was asked answers a job of an earlier life: the region is
   * not asked about the slot again.
   */
  resultArrived(monitorId: number, slot: number, region: Region): void {
    const job = this.#jobOfSlot(monitorId, slot, region);
    if (job !== undefined) this.#endJob(job);
    else {
      if (this.#unasked.size >= MOST_UNASKED) this.#unasked.clear();
      this.#unasked.set(jobKey(monitorId, region), slot);
    }
  }

  /** The region's answer is recorded. */
  answerRecorded(monitorId: number, slot: number, region: Region): void {
    const job = this.#jobOfSlot(monitorId, slot, region);
    if (job !== undefined) this.#endJob(job);
  }

  /** Whether the region is asked once more if its agent gives the job back unrun. */
  isAskedAgain(monitorId: number, slot: number, region: Region, now: number): boolean {
    const job = this.#jobOfSlot(monitorId, slot, region);
    return job !== undefined && this.#isAskable(job, now);
  }

  /** The agent has given the job back without running it, and that is recorded. */
  jobGivenBack(monitorId: number, slot: number, region: Region, now: number): void {
    const job = this.#jobOfSlot(monitorId, slot, region);
    // Where it was asked once more by its silence, that is waited for.
    if (job !== undefined && !job.isAskedAgain) this.#askAgain(job, now);
  }

  /** What the region was asked may be lost: its agent is gone, or the connection was. */
  loseJobs(region: Region, now: number): void {
    for (const job of this.#jobs.values()) {
      if (job.region !== region || !job.isPublished) continue;
      job.silentAt = now;
      this.#askedIn(region).set(job, now);
    }
  }

  /** Nobody waits for the job: the probed attributes changed, or the region no longer checks this monitor. */
  withdrawJob(monitorId: number, region: Region): void {
    const job = this.get(monitorId, region);
    if (job !== undefined) this.#endJob(job);
  }

  /** Asks silent regions once more, or gives them up. To be called in every tick in which silence means something. */
  judgeSilentJobs(now: number): void {
    for (const asked of this.#asked) {
      for (let job = asked.peek(); job !== undefined && job.dueAt <= now; job = asked.peek()) {
        // Its result may lie in the stream.
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

  // Every region has both.
  #queuedIn(region: Region): Job[] {
    return this.#queued[regionIndex(region)] as Job[];
  }

  #askedIn(region: Region): DueQueue<Job> {
    return this.#asked[regionIndex(region)] as DueQueue<Job>;
  }
}

function mostLateMs({ periodMs }: LiveMonitor): number {
  return Math.min(MOST_LATE_MS, periodMs / 3);
}
