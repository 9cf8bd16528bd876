import type { Bag, Placed } from '@svc/shared/bag.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import type { Due } from './due-queue.ts';

/** Longest time after its slot within which a job must be taken, ms; after that its region abstains. */
const MAX_OFFER_MS = 10_000;

/** More than there are regions. */
const KEYS_PER_MONITOR = 32;

const JOB_STATES = [
  /** Waits to be published: it was just opened, it was lost, or there is no connection. */
  'queued',
  /** Published; no agent has accepted it. */
  'offered',
  /** An agent has it, or its result is on the way. */
  'accepted',
  /** Reported, abstained or withdrawn: no longer in the table. */
  'ended',
] as const;
export type JobState = (typeof JOB_STATES)[number];

/** An agent, as its jobs see it. */
export type JobHolder = { readonly jobs: Bag<Job> };

/**
 * One check in one region, from the opening of its slot until its result is recorded. The in-flight table
 * owns it; no other code changes it, and nobody keeps one beyond its end: the object becomes a later job
 * ({@link JobObjects}).
 */
export class Job implements Due, Placed {
  /** The monitor as declared when the slot was opened. */
  monitor: LiveMonitor;
  slot: number;
  region: Region;
  key: number;
  /** Index of the region in the fixed order. */
  regionIndex: number;
  /** Monotonic ms of the slot: the check starts then, even if the job is published earlier. */
  startAt: number;
  /** Monotonic ms after which it is not offered any more. */
  boundAt: number;
  /** False: its result is no longer awaited; the job is kept because it still runs. */
  isAwaited = true;
  state: JobState = 'queued';
  /** The agent that accepted it. */
  agent: JobHolder | null = null;
  /** When it was accepted, monotonic ms. */
  acceptedAt = 0;
  offers = 0;
  /** When it was offered first, monotonic ms. */
  offeredAt = 0;
  /** The last offer was declined, so its end does not count as silence. */
  isAnswered = false;
  /** Serial of the last heartbeat of `agent` that named it. */
  seenIn = -1;
  /** Heartbeats of `agent` in a row that did not name it. */
  absences = 0;
  /** It was accepted once and got lost. */
  wasLost = false;
  /** An agent could not read it. */
  wasInvalid = false;
  dueAt = 0;
  queueIndex = -1;
  /** Among those that wait to be published, or among those of `agent`. */
  place = -1;

  /**
   * It repeats the beginning of {@link become} because V8 keeps numbers that began as 0 otherwise than instants: with one
   * piece of code for both, a check took 2 µs more of V8's helper.
   */
  constructor({ monitor, slot, region, startAt, boundAt }: NewJob) {
    this.monitor = monitor;
    this.slot = slot;
    this.region = region;
    this.key = jobKey(monitor.id, region);
    this.regionIndex = this.key % KEYS_PER_MONITOR;
    this.startAt = startAt;
    this.boundAt = boundAt;
  }

  /** Makes an ended job this new one. */
  become({ monitor, slot, region, startAt, boundAt }: NewJob): void {
    this.monitor = monitor;
    this.slot = slot;
    this.region = region;
    this.key = jobKey(monitor.id, region);
    this.regionIndex = this.key % KEYS_PER_MONITOR;
    this.startAt = startAt;
    this.boundAt = boundAt;
    this.isAwaited = true;
    this.state = 'queued';
    this.agent = null;
    this.acceptedAt = 0;
    this.offers = 0;
    this.offeredAt = 0;
    this.isAnswered = false;
    this.seenIn = -1;
    this.absences = 0;
    this.wasLost = false;
    this.wasInvalid = false;
    this.dueAt = 0;
    this.queueIndex = -1;
    this.place = -1;
  }
}

export type NewJob = Pick<Job, 'monitor' | 'slot' | 'region' | 'startAt' | 'boundAt'>;

/** Time after its slot during which a job may be offered, ms. */
export function offerBoundMs(periodMs: number): number {
  return Math.min(MAX_OFFER_MS, periodMs / 3);
}

const INDEX: ReadonlyMap<Region, number> = new Map(REGIONS.map((region, index) => [region, index]));

/** Index of the region in the fixed order, 0 to 27. */
export function regionIndex(region: Region): number {
  return INDEX.get(region) ?? -1;
}

/** One number for (monitor, region). */
export function jobKey(monitorId: number, region: Region): number {
  return monitorId * KEYS_PER_MONITOR + regionIndex(region);
}
