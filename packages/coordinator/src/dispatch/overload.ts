import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { HEARTBEAT_INTERVAL_MS } from '@svc/shared/messages/heartbeat.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import {
  type Backlog,
  cpuWaits,
  type Pressure,
  recordingPressure,
  regionPressure,
  tickPressure,
} from '../domain/pressure.ts';
import type { Agents } from './agents.ts';
import type { DispatchCounters } from './counters.ts';
import { Demand } from './demand.ts';
import { Gate } from './gate.ts';
import { type Job, jobKey, regionIndex } from './job.ts';
import { Lateness } from './lateness.ts';
import { Recent } from './recent.ts';
import type { AskingSlot } from './scheduler-parts.ts';

/** Interval at which the signs of overload are checked, ms; each check covers the last 2 s. */
const STEP_MS = 500;
const WINDOW_S = 2;
/** Recorded jobs are compared with opened jobs over this many steps, so that a reduction shows at once. */
const SHORT_STEPS = 2;
const SHORT_S = 1;
/** Steps in each of which something must have been recorded for the disk to count as steady. */
const STEADY_STEPS = 3;
/** A tick that came later than this is late, ms. */
const LATE_MS = 50;
/**
 * While a limit holds, slots that are later than this are skipped, ms: each would take the place of one that
 * can begin in time.
 */
const MOST_LATE_MS = 100;
/**
 * While slots are skipped or were just now, a check that has not begun this long after its slot does not begin, ms: as long as
 * each agent of its region takes for so many checks, within the bounds. What runs is in time then, and so many wait at an
 * agent that it always has one to begin. Agents that run many in a second need a shorter queue for that.
 */
const WAITING_AT_AGENT = 40;
const SHORTEST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 500;
const WAITING_AT_FAST_AGENT = 120;
const SHORTEST_FAST_WAIT_MS = 120;
/** Time within which it is told that a check was dropped, from when its job was sent, ms: sent ahead, dropped, reported. */
const TOLD_WITHIN_MS = 5_000;
/**
 * Slots by which a monitor waits for less in an overloaded region when its slot runs in another one, and for more when it
 * does not. Its regions then see an outage together, and its votes age together.
 */
const SOONER_TOGETHER = 2.5;
const LATER_ALONE = 1;
/** An agent heard of within this time also answers offers, unless it is overloaded, ms. */
const HEARD_WITHIN_MS = HEARTBEAT_INTERVAL_MS + 500;
/** Least time between two alarms of one kind, ms. */
const ALARM_EVERY_MS = 60_000;

const ADVICE = {
  recording:
    'results come faster than they are recorded, so checks are skipped: give the coordinator a faster disk or CPU, or declare fewer checks',
  scheduling:
    'this process cannot schedule all checks, so some are skipped: give the coordinator a faster CPU, or declare fewer checks',
  lateness:
    'checks begin late in all regions, so some are skipped: give the machines of the coordinator and the agents more CPU, add agents, or declare fewer checks',
  region:
    'the agents of a region cannot run all its checks, so some are skipped there: add agents in the region',
} as const;

/** Reasons under which skipped jobs are counted, by the sign that closed the gate of the whole. */
const SKIPPED_BY = {
  recording: 'recording-overloaded',
  scheduling: 'scheduling-overloaded',
  lateness: 'lateness-overloaded',
} as const;

export type OverloadParts = {
  clock: Clock;
  log: Logger;
  agents: Agents;
  counters: DispatchCounters;
  /** Answers what waits to be recorded. Called twice a second. */
  backlog: () => Backlog;
  /** Answers for how long this thread has waited for a CPU, ms; null: it is not known. Called twice a second. */
  cpuWaitedMs: () => number | null;
  /** Whether the server said that nobody listens in the region. */
  isDeaf: (region: Region) => boolean;
};

/** Counts of one region. */
type Signs = { offers: Recent; unanswered: Recent; turnedAway: Recent; done: Recent };
/** `hadAgents`: since the start of this process, so that jobs may have been offered. */
type RegionLoad = { readonly gate: Gate; readonly signs: Signs; hadAgents: boolean };

/**
 * Detects that more checks are requested than the agents of a region can run, or than this process can record
 * and schedule, and says which slots are then skipped. The domain decides what a sign means and how much is
 * admitted; this class counts.
 */
export class Overload {
  readonly #parts: OverloadParts;
  readonly #demand = new Demand();
  readonly #lateness = new Lateness();
  readonly #gate = new Gate();
  readonly #regions: readonly RegionLoad[] = REGIONS.map(() => ({
    gate: new Gate(),
    signs: { offers: new Recent(), unanswered: new Recent(), turnedAway: new Recent(), done: new Recent() },
    hadAgents: false,
  }));
  readonly #opened = new Recent();
  readonly #done = new Recent();
  readonly #ticks = new Recent();
  readonly #lateTicks = new Recent();
  /** Time in which this thread waited for a CPU, ms. */
  readonly #cpuWaits = new Recent();
  /** Keys of (monitor, region) whose last check was dropped by its agent under a limit. */
  readonly #dropped = new Set<number>();
  readonly #alarmedAt = new Map<string, number>();
  /** The sign that closed the gate of the whole. */
  #cause: 'recording' | 'scheduling' | 'lateness' = 'recording';
  /** The slot that an overloaded region was asked about last, and whether one of them runs it. */
  #askedBefore = { id: 0, slot: 0, runs: false };
  #steppedAt: number;
  #excusedUntil = Number.NEGATIVE_INFINITY;
  /** Before this instant, the number of jobs that agents hold is no sign, and results wait for the pause. */
  #givenAheadUntil = Number.NEGATIVE_INFINITY;
  #cpuWaitedMs: number | null;

  constructor(parts: OverloadParts) {
    this.#parts = parts;
    this.#steppedAt = parts.clock.monotonic();
    this.#cpuWaitedMs = parts.cpuWaitedMs();
  }

  changed(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#demand.changed(before, after);
    if (before === null || after !== null) return;
    this.#gate.forget(before.id);
    for (const { gate } of this.#regions) gate.forget(before.id);
    if (this.#dropped.size > 0) for (const region of REGIONS) this.#dropped.delete(jobKey(before.id, region));
  }

  /**
   * Whether the slot is run at all. To be called once per slot; it counts skipped jobs.
   *
   * @param jobs of the slot
   */
  admitsSlot(
    { id, workspaceId }: LiveMonitor,
    { slot, ofPeriod, lateMs }: AskingSlot,
    jobs: number,
  ): boolean {
    if (this.#gate.isOpen) {
      this.#gate.countAsked(workspaceId, { jobs, ofPeriod });
      return true;
    }
    const isInTime = lateMs <= MOST_LATE_MS;
    if (this.#gate.admits(id, workspaceId, { slot, jobs, ofPeriod, isInTime })) return true;
    this.#parts.counters.jobsSkipped[SKIPPED_BY[this.#cause]] += jobs;
    return false;
  }

  /** Whether the slot is run in the region. To be called once per slot and region; it counts skipped jobs. */
  admits({ id, workspaceId }: LiveMonitor, { slot, ofPeriod, lateMs }: AskingSlot, region: Region): boolean {
    const { gate } = this.#of(region);
    if (gate.isOpen) {
      gate.countAsked(workspaceId, { jobs: 1, ofPeriod });
      return true;
    }
    const asked = this.#askedBefore;
    const isAsked = asked.id === id && asked.slot === slot;
    const sooner = !isAsked ? 0 : asked.runs ? SOONER_TOGETHER : -LATER_ALONE;
    const isAdmitted = gate.admits(id, workspaceId, {
      slot,
      jobs: 1,
      ofPeriod,
      isInTime: lateMs <= MOST_LATE_MS,
      sooner,
    });
    this.#askedBefore = { id, slot, runs: isAdmitted || (isAsked && asked.runs) };
    if (!isAdmitted) this.#parts.counters.jobsSkipped['region-overloaded'] += 1;
    return isAdmitted;
  }

  opened(jobs: number): void {
    this.#opened.add(jobs);
  }

  offered(region: Region): void {
    this.#of(region).signs.offers.add(1);
  }

  /** No agent accepted an offered job in time. */
  unanswered(region: Region): void {
    this.#of(region).signs.unanswered.add(1);
  }

  /** An agent had no room for a job. */
  refused(region: Region): void {
    this.#of(region).signs.turnedAway.add(1);
  }

  /**
   * A check of the region ran.
   *
   * @param key of its monitor and region
   */
  reported(region: Region, key: number): void {
    this.#done.add(1);
    this.#of(region).signs.done.add(1);
    if (this.#dropped.size > 0) this.#dropped.delete(key);
  }

  /**
   * An agent took the job, but did not start it in time.
   *
   * @param job null: it is not known
   */
  dropped(region: Region, job: Pick<Job, 'agent' | 'key' | 'monitor'> | null): void {
    if (this.#hasLimited(region, TOLD_WITHIN_MS)) {
      // That is what the limit asks of agents. It was not done, and like a late check it lowers the limit a little.
      this.#lateness.dropped(region, job?.agent ?? null);
      if (job !== null) this.#didNotRun(region, job);
      return;
    }
    this.#done.add(1);
    this.#of(region).signs.turnedAway.add(1);
  }

  /** The monitor's next slot has precedence, and its check may begin later: it is not dropped again. */
  #didNotRun(region: Region, { key, monitor }: Pick<Job, 'key' | 'monitor'>): void {
    this.#dropped.add(key);
    const regions = monitor.regions?.length ?? this.#parts.agents.live().length;
    this.#gate.giveBack(monitor.id, 1 / Math.max(1, regions));
    this.#of(region).gate.giveBack(monitor.id, 1);
  }

  /** Longest time after its slot, ms, in which a check of the region may begin; infinite: as long as it is offered. */
  startWithinMs(region: Region): number {
    if (!this.#hasLimited(region)) return Number.POSITIVE_INFINITY;
    const donePerSecond = this.#of(region).signs.done.sum / WINDOW_S;
    // Jobs of an agent that is gone are offered again, also where it was the last one.
    const agents = Math.max(1, this.#parts.agents.loadOf(region).agents);
    const perCheckMs = (1_000 * agents) / donePerSecond;
    const shortestMs = Math.max(
      SHORTEST_FAST_WAIT_MS,
      Math.min(SHORTEST_WAIT_MS, WAITING_AT_FAST_AGENT * perCheckMs),
    );
    return Math.max(shortestMs, Math.min(LONGEST_WAIT_MS, WAITING_AT_AGENT * perCheckMs));
  }

  /** The same for one job. A check that its agent has dropped the last time may begin as late as any. */
  startWithinMsOf(job: Pick<Job, 'key'>, ofRegionMs: number): number {
    return this.#dropped.has(job.key) ? Math.max(ofRegionMs, LONGEST_WAIT_MS) : ofRegionMs;
  }

  /**
   * Notes that a result has come.
   *
   * @param agent the one that ran the check; null: it is not known
   * @param delayMs from the slot on, less the time that the check took
   * @param tripMs how long answers to offers take in the region at the least, ms
   */
  arrived(region: Region, agent: object | null, delayMs: number, tripMs: number): void {
    this.#lateness.arrived(region, agent, delayMs, tripMs);
  }

  /** Ignores silence for this long. */
  excuse(ms: number): void {
    this.#excusedUntil = this.#parts.clock.monotonic() + ms;
  }

  /** Jobs are given out this long ahead. Agents hold more until then, and tell it in heartbeats until somewhat later, ms. */
  givesAhead(ms: number): void {
    this.#givenAheadUntil = this.#parts.clock.monotonic() + ms + HEARD_WITHIN_MS;
  }

  /**
   * To be called in every tick.
   *
   * @param lateMs delay of the tick
   */
  tick(now: number, lateMs: number): void {
    this.#ticks.add(1);
    if (lateMs > LATE_MS) this.#lateTicks.add(1);
    const elapsedMs = now - this.#steppedAt;
    if (elapsedMs < STEP_MS) return;
    this.#steppedAt = now;
    this.#stepWhole(elapsedMs);
    for (const region of REGIONS) if (this.#hadAgents(region)) this.#stepRegion(region, now, elapsedMs);
  }

  #hadAgents(region: Region): boolean {
    const load = this.#of(region);
    load.hadAgents ||= this.#parts.agents.isLive(region);
    return load.hadAgents;
  }

  #stepWhole(elapsedMs: number): void {
    const donePerSecond = this.#done.last(SHORT_STEPS) / SHORT_S;
    const isSteady = this.#done.isSteady(STEADY_STEPS);
    const recording = recordingPressure(this.#parts.backlog(), {
      donePerSecond,
      openedPerSecond: this.#opened.last(SHORT_STEPS) / SHORT_S,
      isSteady,
    });
    const scheduling = tickPressure(this.#ticks.sum, this.#lateTicks.sum);
    // While the disk stands still, results wait to be read.
    const standsStill = recording !== 'free' && !isSteady;
    this.#lateness.step(standsStill || this.#isExcused || this.#hasGivenAhead);
    const lateness = this.#lateness.everywhere(!this.#gate.isWatched);
    const pressure = worst(recording, scheduling, lateness);
    this.#cpuWaits.add(this.#cpuWaited());
    const waits = cpuWaits(this.#cpuWaits.sum, WINDOW_S * 1_000);
    const asked = () => this.#demand.askedIn(this.#parts.agents.live());
    const hasClosed = this.#gate.step({ pressure, waits, donePerSecond }, asked, elapsedMs);
    if (hasClosed) {
      this.#cause =
        pressure === recording ? 'recording' : pressure === scheduling ? 'scheduling' : 'lateness';
      this.#alarm(this.#cause, { perSecond: Math.round(this.#gate.perSecond) });
    }
    for (const each of [this.#opened, this.#done, this.#ticks, this.#lateTicks, this.#cpuWaits]) each.step();
  }

  #stepRegion(region: Region, now: number, elapsedMs: number): void {
    const { agents, isDeaf } = this.#parts;
    const { gate, signs } = this.#of(region);
    const load = agents.loadOf(region);
    const isHeard = now - load.silentSince <= HEARD_WITHIN_MS && !this.#isExcused && !isDeaf(region);
    if (!isHeard) signs.unanswered.clear();
    const shown = regionPressure({
      offers: signs.offers.sum,
      unanswered: signs.unanswered.sum,
      turnedAway: signs.turnedAway.sum,
      held: this.#hasGivenAhead ? 0 : load.held,
      capacity: load.capacity,
    });
    // The gate of the whole responds to a delay of all regions; the regions' own gates must not respond as
    // well.
    const isAnswered = this.#lateness.isEverywhere && !this.#gate.isOpen;
    const pressure = isAnswered ? 'busy' : worst(this.#lateness.of(region, !gate.isWatched), shown);
    const asked = () => this.#askedIn(region);
    const step = { pressure, waits: 'little', donePerSecond: signs.done.sum / WINDOW_S } as const;
    if (gate.step(step, asked, elapsedMs)) {
      this.#alarm('region', { region, perSecond: Math.round(gate.perSecond) });
    }
    for (const each of Object.values(signs)) each.step();
  }

  /** Time since the last call in which this thread waited for a CPU, ms. */
  #cpuWaited(): number {
    const before = this.#cpuWaitedMs;
    this.#cpuWaitedMs = this.#parts.cpuWaitedMs();
    return before === null || this.#cpuWaitedMs === null ? 0 : this.#cpuWaitedMs - before;
  }

  /** The region's requested jobs that the gate of the whole leaves. */
  #askedIn(region: Region): Map<number, number> {
    const asked = this.#demand.askedIn(this.#parts.agents.isLive(region) ? [region] : []);
    if (this.#gate.isOpen) return asked;
    for (const [workspaceId, rate] of asked) asked.set(workspaceId, rate * this.#gate.partOf(workspaceId));
    return asked;
  }

  #hasLimited(region: Region, moreMs = 0): boolean {
    return this.#gate.hasLimited(moreMs) || this.#of(region).gate.hasLimited(moreMs);
  }

  get #hasGivenAhead(): boolean {
    return this.#parts.clock.monotonic() < this.#givenAheadUntil;
  }

  get #isExcused(): boolean {
    return this.#parts.clock.monotonic() < this.#excusedUntil;
  }

  #alarm(kind: keyof typeof ADVICE, details: { perSecond: number; region?: Region }): void {
    const { clock, counters, log } = this.#parts;
    counters.overloads[kind] += 1;
    const key = `${kind} ${details.region ?? ''}`;
    const now = clock.monotonic();
    if (now - (this.#alarmedAt.get(key) ?? Number.NEGATIVE_INFINITY) < ALARM_EVERY_MS) return;
    this.#alarmedAt.set(key, now);
    log.error(details, ADVICE[kind]);
  }

  #of(region: Region): RegionLoad {
    return this.#regions[regionIndex(region)] as RegionLoad;
  }
}

const BY_WEIGHT: readonly Pressure[] = ['overloaded', 'late', 'busy', 'free'];

function worst(...all: readonly Pressure[]): Pressure {
  return BY_WEIGHT.find((each) => all.includes(each)) ?? 'free';
}
