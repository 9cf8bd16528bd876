import type { Acceptance, JobKey } from '@svc/shared/messages/heartbeat.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import type { KnownAgent } from './agents.ts';
import type { DispatchCounters } from './counters.ts';
import { DueQueue } from './due-queue.ts';
import type { InFlightParts } from './in-flight-parts.ts';
import { type Job, offerBoundMs, regionIndex } from './job.ts';
import { JobObjects } from './job-objects.ts';
import { JobTable } from './job-table.ts';
import { Lineup } from './lineup.ts';
import { MissingJobs } from './missing-jobs.ts';
import { OfferTimes } from './offer-times.ts';

/** Wait after an offer that an agent declined (full, draining), ms. */
const DECLINED_REOFFER_MS = 250;
/** Heartbeats in a row without the job after which it counts as lost. */
const LOST_ABSENCES = 2;
/** Time that a job may take beyond its check, ms: waiting, reporting, outages. */
const BELIEVED_EXTRA_MS = 120_000;

/**
 * Every job from the opening of its slot until its result is recorded. There is at most one awaited job per
 * monitor and region, so that a check never runs beside its own predecessor.
 *
 *     queued ──published──▶ offered ──accepted──▶ accepted ──result recorded──▶ ended
 *       ▲                      │                      │
 *       └── nobody took it ────┴── lost, given back ◀─┘      past its bound: the region abstains
 *
 * A job that is no longer awaited (its monitor was changed, or the region does not check it any more) is kept
 * apart while its agent holds it, so that heartbeats and results find it. It blocks no other job, and its end
 * is not reported.
 *
 * All instants are monotonic ms. Times are judged only in {@link judge}, {@link loseMissing} and {@link
 * expireQueued}; there are no timers here.
 */
export class InFlight {
  readonly #parts: InFlightParts;
  readonly #jobs = new JobTable();
  readonly #objects = new JobObjects();
  /** Jobs that wait to be published, per region in the fixed order. */
  readonly #queued: readonly Lineup<Job>[] = REGIONS.map(() => new Lineup<Job>());
  /** Offered jobs by the instant of their next offer or their end, per region in the fixed order. */
  readonly #offered: readonly DueQueue<Job>[] = REGIONS.map(() => new DueQueue<Job>());
  readonly offerTimes = new OfferTimes();
  readonly #missing: MissingJobs;

  constructor(parts: InFlightParts) {
    this.#parts = parts;
    this.#missing = new MissingJobs(parts.readerCaughtUp);
  }

  /** Number of all jobs, including those that are no longer awaited. */
  get size(): number {
    return this.#jobs.size;
  }

  /** The awaited job of the monitor in the region. */
  get(monitorId: number, region: Region): Job | undefined {
    return this.#jobs.get(monitorId, region);
  }

  /** The awaited jobs. */
  values(): Iterable<Job> {
    return this.#jobs.values();
  }

  /** Whether jobs wait to be published. Asked in every tick. */
  get hasQueued(): boolean {
    for (let index = 0; index < this.#queued.length; index += 1) {
      if ((this.#queued[index] as Lineup<Job>).size > 0) return true;
    }
    return false;
  }

  /** The region's jobs that wait to be published, oldest first. */
  queued(region: Region): Pick<Lineup<Job>, 'size' | 'all'> {
    return this.#queued[regionIndex(region)] as Lineup<Job>;
  }

  /**
   * Adds a job. The monitor must have no awaited job in the region.
   *
   * @param startAt monotonic ms of the slot: now, or some time ahead
   * @param offerMs time after `startAt` during which it may be offered; default: that of a fresh slot's job
   */
  open(
    monitor: LiveMonitor,
    slot: number,
    region: Region,
    startAt: number,
    offerMs = offerBoundMs(monitor.periodMs),
  ): void {
    const job = this.#objects.make({ monitor, slot, region, startAt, boundAt: startAt + offerMs });
    this.#jobs.add(job);
    this.#queue(job);
  }

  /**
   * Adds a job of an earlier life of the coordinator that `agent` still holds. It is never offered again. If
   * an agent holds two jobs of a monitor, the older one is not awaited: only a job that is no longer awaited
   * allows another one of its monitor.
   *
   * @param isAwaited false: what is probed has changed since, or the monitor was switched off
   */
  adopt(monitor: LiveMonitor, slot: number, agent: KnownAgent, now: number, isAwaited = true): void {
    const other = this.get(monitor.id, agent.region);
    const { region } = agent;
    const job = this.#objects.make({ monitor, slot, region, startAt: now, boundAt: now });
    this.#accept(job, agent, now);
    job.seenIn = agent.serial;
    if (!isAwaited || (other !== undefined && other.slot > slot)) {
      this.#jobs.setApart(job);
      return;
    }
    if (other !== undefined) this.#jobs.setApart(other);
    this.#jobs.add(job);
  }

  /** Notes that the publisher has sent the job. */
  markOffered(job: Job, now: number): void {
    this.#unqueue(job);
    job.state = 'offered';
    job.isAnswered = false;
    if (job.offers === 0) job.offeredAt = now;
    job.offers += 1;
    const { offers } = this.#parts.counters;
    if (job.offers > 1) offers.repeated += 1;
    else offers.first += 1;
    const dueAt = Math.min(job.boundAt, now + this.offerTimes.waitMs(job));
    this.#offeredIn(job.regionIndex).set(job, dueAt);
  }

  /** Takes an agent's answer to an offered batch. It ignores jobs that are not in the table. */
  acceptance(agent: KnownAgent, { accepted, refused }: Acceptance, now: number): void {
    // By index: a pair that is taken apart by its iterator costs more than finding its job.
    for (let index = 0; index < accepted.length; index += 1) {
      const key = accepted[index] as JobKey;
      const job = this.#jobs.find(key[0], key[1], agent.region);
      if (job === null) continue;
      this.#parts.counters.answers.accepted += 1;
      // The jobs of a batch were offered together.
      if (index === 0) this.offerTimes.answered(job, now);
      this.#accept(job, agent, now);
    }
    for (const [monitorId, slot, reason] of refused) {
      const job = this.#jobs.find(monitorId, slot, agent.region);
      if (job === null) continue;
      this.#parts.counters.answers.refused += 1;
      if (job.state === 'accepted') continue;
      this.offerTimes.answered(job, now);
      switch (reason) {
        case 'held':
        case 'finished':
          // The job ran or runs; its result is on the way.
          this.#accept(job, agent, now);
          break;
        case 'invalid':
          job.wasInvalid = true;
          this.#declined(job, now);
          break;
        case 'full':
          this.#declined(job, now);
          break;
        case 'draining':
          this.#declined(job, now);
          break;
        default:
          reason satisfies never;
      }
    }
  }

  /**
   * Compares the jobs in an agent's heartbeat with the jobs that it accepted. To be called for every
   * heartbeat, after `agent.serial` has grown.
   *
   * @param onUnknown called for held jobs that are not in the table
   */
  heartbeat(
    agent: KnownAgent,
    held: readonly JobKey[],
    now: number,
    onUnknown?: (monitorId: number, slot: number) => void,
  ): void {
    for (let index = 0; index < held.length; index += 1) {
      const key = held[index] as JobKey;
      const job = this.#jobs.find(key[0], key[1], agent.region);
      if (job === null) {
        onUnknown?.(key[0], key[1]);
        continue;
      }
      // Also when the acceptance got lost.
      if (job.agent !== agent) this.#accept(job, agent, now);
      job.seenIn = agent.serial;
    }
    for (const job of agent.jobs.all()) {
      if (job.seenIn === agent.serial) {
        job.absences = 0;
        this.#missing.delete(job);
        if (now - job.acceptedAt > job.monitor.longestCheckMs + BELIEVED_EXTRA_MS) this.#lose(job, now);
      } else {
        job.absences += 1;
        if (job.absences >= LOST_ABSENCES) this.#missing.add(job, now);
      }
    }
  }

  /**
   * Gives up missing jobs once the reader has caught up with their region: the recorded ones have ended by
   * then. The backlog of one region delays no other.
   */
  loseMissing(now: number): void {
    for (const job of this.#missing.lost()) this.#lose(job, now);
  }

  /** Marks every job of a lost agent as missing: it is lost unless its result waits in the stream. */
  agentGone(agent: KnownAgent, now: number): void {
    for (const job of agent.jobs.all()) this.#missing.add(job, now);
  }

  /**
   * Ends a job whose check has ended, as far as its agent says, and whose result, if there is one, waits in a stream that is
   * not read for a while. The next slot must not wait for a disk. The result is recorded when it is read.
   *
   * @returns whether it has ended
   */
  endUnread(job: Job, now: number): boolean {
    const isUnread = this.#missing.isUnread(job, now);
    if (isUnread) this.#end(job);
    return isUnread;
  }

  /** Notes that a result of the slot has come, or that a row explains why there is none. */
  recorded(monitorId: number, slot: number, region: Region): void {
    const job = this.#jobs.find(monitorId, slot, region);
    if (job !== null) this.#end(job);
  }

  /** Whether a job that its agent gives back unrun will be offered again. */
  isOfferedAgain(monitorId: number, slot: number, region: Region, now: number): boolean {
    const job = this.#jobs.find(monitorId, slot, region);
    return job?.isAwaited === true && now < job.boundAt;
  }

  /**
   * The agent has given the job back without running it, and that is recorded. Nothing happens when the job
   * was found lost before and has already been offered again.
   */
  givenBack(monitorId: number, slot: number, region: Region, now: number): void {
    const job = this.#jobs.find(monitorId, slot, region);
    if (job?.state !== 'accepted') return;
    if (job.isAwaited && now < job.boundAt) {
      this.#queue(job);
      return;
    }
    // The answer did not count as a result, so the region still owes one.
    job.wasLost = true;
    this.#giveUp(job);
  }

  /**
   * Stops awaiting a job: the probed attributes changed, or the region no longer checks this monitor. A job
   * that no agent has is not offered again.
   */
  withdraw(monitorId: number, region: Region): void {
    const job = this.get(monitorId, region);
    if (job === undefined) return;
    if (job.state === 'accepted') this.#jobs.setApart(job);
    else this.#end(job);
  }

  /** Publishes the region's untaken jobs again at once, because an agent has appeared. */
  offerAgain(region: Region): void {
    for (const job of this.#jobs.values()) {
      if (job.region === region && job.state === 'offered') this.#queue(job);
    }
  }

  /** The regions in which some offered job has waited long enough for an answer at `asOf`. Asked in every tick. */
  overdueRegions(asOf: number): readonly Region[] {
    const regions: Region[] = [];
    for (let index = 0; index < this.#offered.length; index += 1) {
      const first = this.#offeredIn(index).peek();
      if (first !== undefined && first.dueAt <= asOf) regions.push(first.region);
    }
    return regions;
  }

  /**
   * Offers the region's untaken jobs again, or gives them up. All messages that had arrived by `asOf` must be
   * handled.
   */
  judge(region: Region, asOf: number): void {
    const offered = this.#offeredIn(regionIndex(region));
    for (let job = offered.peek(); job !== undefined && job.dueAt <= asOf; job = offered.peek()) {
      if (asOf >= job.boundAt) this.#giveUp(job);
      else this.#queue(job);
    }
  }

  /** Gives up jobs that were not published within their bounds. */
  expireQueued(now: number): void {
    for (const jobs of this.#queued) {
      if (jobs.size === 0) continue;
      for (const job of jobs.all()) {
        if (now >= job.boundAt) this.#giveUp(job);
      }
    }
  }

  /** Ends a job that cannot be published at all. */
  unpublishable(job: Job): void {
    this.#abstain(job, 'internal-error');
  }

  #offeredIn(index: number): DueQueue<Job> {
    // Every region has a queue.
    return this.#offered[index] as DueQueue<Job>;
  }

  #queue(job: Job): void {
    this.#leave(job);
    job.state = 'queued';
    (this.#queued[job.regionIndex] as Lineup<Job>).add(job);
  }

  #unqueue(job: Job): void {
    (this.#queued[job.regionIndex] as Lineup<Job>).delete(job);
  }

  #accept(job: Job, agent: KnownAgent, now: number): void {
    this.#leave(job);
    job.state = 'accepted';
    job.agent = agent;
    job.acceptedAt = now;
    job.absences = 0;
    job.seenIn = -1;
    agent.jobs.add(job);
  }

  #declined(job: Job, now: number): void {
    job.isAnswered = true;
    if (job.state !== 'offered') return;
    this.#offeredIn(job.regionIndex).set(job, Math.min(job.boundAt, now + DECLINED_REOFFER_MS));
  }

  #lose(job: Job, now: number): void {
    this.#parts.counters.jobsLost += 1;
    job.wasLost = true;
    if (now < job.boundAt && job.isAwaited) this.#queue(job);
    else this.#giveUp(job);
  }

  #giveUp(job: Job): void {
    if (!job.isAwaited) this.#end(job);
    else if (job.wasLost) this.#abstain(job, 'job-lost');
    else if (job.wasInvalid) this.#abstain(job, 'unsupported');
    else this.#abstain(job, 'no-agent');
  }

  #abstain(job: Job, reason: keyof DispatchCounters['abstained']): void {
    this.#parts.counters.abstained[reason] += 1;
    this.#end(job);
    this.#parts.events.abstained(job.monitor, job.slot, job.region, reason);
  }

  #end(job: Job): void {
    if (job.state === 'ended') return;
    this.#leave(job);
    job.state = 'ended';
    this.#jobs.delete(job);
    this.#objects.ended(job);
  }

  /** Removes the job from the collection of its state. */
  #leave(job: Job): void {
    switch (job.state) {
      case 'queued':
        this.#unqueue(job);
        break;
      case 'offered':
        this.#offeredIn(job.regionIndex).delete(job);
        break;
      case 'accepted':
        job.agent?.jobs.delete(job);
        job.agent = null;
        this.#missing.delete(job);
        break;
      case 'ended':
        break;
      default:
        job.state satisfies never;
    }
  }
}
