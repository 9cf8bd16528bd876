import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import { DISPATCH_COUNTERS, type DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import type { SlotEvents, SlotOutcome, SlotOutcomes, SlotRecovery } from '../verdict/slots.ts';
import type { Backlog } from '../verdict/thinning.ts';
import { Agents, HEARTBEAT_ROUND_MS, type KnownAgent } from './agents.ts';
import { HeartbeatReaders, SilenceJudge } from './heartbeats.ts';
import type { JobTokens } from './job-tokens.ts';
import { ManualRuns, type RegionAnswer } from './manual-runs.ts';
import { jobKey, OpenJobs } from './open-jobs.ts';
import { Overload } from './overload.ts';
import { Publisher, SlowChecks } from './publisher.ts';
import { AbsentRegions, type RegionPresence } from './region-presence.ts';
import { Scheduler } from './scheduler.ts';
import type { SlotClock } from './slot-clock.ts';

/** Interval at which slots are opened and jobs are published, ms. */
const TICK_MS = 50;
/**
 * Delay of a tick after which the process counts as having stood still, ms. Messages may still wait in the
 * socket after such a delay, so silence of an agent proves nothing.
 */
const LATE_TICK_MS = 250;
/** Time after a late tick during which no silence is judged, ms. */
const AFTER_LATE_MS = 500;

export type DispatchParts = {
  /** The id of the shard. */
  shard: number;
  /** Counts as disconnected also while another coordinator may lead the shard. */
  bus: Bus;
  clock: Clock;
  log: Logger;
  monitors: LiveMonitors;
  events: SlotEvents;
  tokens: Pick<JobTokens, 'tokenOf'>;
  slotClock: SlotClock;
  /** The stored presence of regions, loaded already. */
  presence: RegionPresence;
  /**
   * Returns the newest recorded and believed slot that the monitor was given; null: none is known. Called at
   * the start.
   */
  newestSlot: (monitorId: number) => number | null;
  /**
   * Returns a slot of the monitor: this slot and earlier slots were given before the monitor was deactivated
   * or its probed attributes changed. 0: none is known; infinite: all slots from before the start. Called at
   * the start.
   */
  floorSlot: (monitorId: number) => number;
  /**
   * Whether all results that the region's stream held up to 1.5 s ago are recorded and were reported to
   * {@link Dispatch.outcomeRecorded}. The first call may return false, because the state of the stream is not
   * known yet. So dispatch calls it again while it needs the answer.
   */
  readerCaughtUp: (region: Region) => boolean;
  recovery: SlotRecovery;
  /** Returns the number of unrecorded events, and the age of the oldest event. Called every second. */
  backlog: () => Backlog;
};

/**
 * Gives checks to regions, and follows each check from its due slot to the recorded result. An instance
 * exists for one leadership, and is not started a second time.
 */
export class Dispatch implements SlotOutcomes {
  readonly counters: DispatchCounters = createTotals(DISPATCH_COUNTERS);
  readonly agents: Agents;
  readonly #parts: DispatchParts;
  readonly #overload: Overload;
  readonly #jobs: OpenJobs;
  readonly #scheduler: Scheduler;
  readonly #publisher: Publisher;
  readonly #readers: HeartbeatReaders;
  readonly #runs: ManualRuns;
  /** Regions whose streams may contain unread results from before the start. */
  readonly #unread: Set<Region>;
  readonly #slowChecks: SlowChecks;
  readonly #absent: AbsentRegions;
  readonly #silence: SilenceJudge;
  /** Regions that lost an agent, and perhaps its jobs, since the last tick. */
  readonly #lostAgentIn = new Set<Region>();
  readonly #stopping = new AbortController();
  #stops: (() => void)[] = [];
  #isDispatching = false;
  /**
   * Monotonic instant by which agents should have reconnected after the connection came back; infinite: no
   * agent is expected to reconnect.
   */
  #reconnectedUntil = Number.POSITIVE_INFINITY;
  #tickDueAt = 0;
  /** Monotonic instant from which slots are opened even if it is not known yet which regions are live. */
  #openFrom = 0;

  constructor(parts: DispatchParts) {
    this.#parts = parts;
    const { clock, log, events, presence, readerCaughtUp, bus, tokens } = parts;
    const { counters } = this;
    const { regions } = presence;
    this.#unread = new Set(regions);
    this.#slowChecks = new SlowChecks(regions);
    this.#absent = new AbsentRegions({ log, counters, presence });
    this.agents = new Agents({
      clock,
      log,
      counters,
      regions,
      onRegionLive: (region) => presence.regionCame(region),
      onRegionLost: (region, lastSeenAt) => this.#absent.regionLost(region, lastSeenAt),
      onGone: (agent) => this.#agentGone(agent),
    });
    this.#overload = new Overload({
      ...parts,
      agents: this.agents,
      regions,
      counters,
    });
    this.#jobs = new OpenJobs({
      events,
      counters,
      readerCaughtUp,
      isLive: (region) => this.agents.isLive(region),
      isBehind: () => this.#overload.isBehind,
    });
    this.#scheduler = new Scheduler({
      ...parts,
      regions: this.agents,
      jobs: this.#jobs,
      counters,
      overload: this.#overload,
    });
    this.#publisher = new Publisher({
      shard: parts.shard,
      regions,
      bus,
      log,
      jobs: this.#jobs,
      slowChecks: this.#slowChecks,
      tokens,
      counters,
      overload: this.#overload,
    });
    this.#readers = new HeartbeatReaders({
      bus,
      clock,
      log,
      regions,
      counters,
      onHeartbeat: (region, message) => void this.agents.takeHeartbeat(region, message),
      onReading: (region) => this.agents.restartSilence(region),
    });
    this.#silence = new SilenceJudge({
      bus,
      log,
      readers: this.#readers,
      agents: this.agents,
      signal: this.#stopping.signal,
    });
    this.#runs = new ManualRuns({ bus, clock });
  }

  /** Number of jobs that regions have not answered yet. */
  get inFlight(): number {
    return this.#jobs.size;
  }

  /** The regions that active monitors declare or that have a live agent, in the fixed order. */
  get regions(): readonly Region[] {
    const { regions } = this.#parts.presence;
    return regions.filter((region) => this.#absent.isDeclared(region) || this.agents.isLive(region));
  }

  /**
   * Begins to follow the declaration and to read heartbeats. Resolves when the heartbeats of each region are
   * read, or the first attempt to read them has failed.
   */
  async #listen(): Promise<void> {
    const { bus, monitors, presence } = this.#parts;
    this.#runs.start();
    presence.start();
    this.#stops.push(bus.onConnection((isConnected) => this.#connectionChanged(isConnected)));
    for (const monitor of monitors.values()) {
      this.#absent.declarationChanged(null, monitor);
      this.#overload.declarationChanged(null, monitor);
    }
    this.#stops.push(monitors.onChange((before, after) => this.#declarationChanged(before, after)));
    await this.#readers.open();
  }

  /**
   * Listens to agents, and begins to dispatch. The first slots are opened when the regions are known: when all
   * declared regions are live, half a second after the last region became live, or at the latest after one
   * interval of heartbeats and 500 ms.
   */
  async start(): Promise<void> {
    const { clock } = this.#parts;
    await this.#listen();
    if (this.#stopping.signal.aborted) return;
    this.#openFrom = clock.monotonic() + HEARTBEAT_ROUND_MS;
    this.#isDispatching = true;
    this.#scheduler.start();
    this.#tickDueAt = clock.monotonic();
    this.#absent.start(clock.monotonic());
    this.#stops.push(clock.every(TICK_MS, () => this.#tick()));
    this.#tick();
  }

  /** Stops. Agents keep their jobs, and report them to the next leadership. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const stop of this.#stops) stop();
    this.#stops = [];
    await this.#readers.close();
    this.#runs.stop();
    await this.#parts.presence.stop();
  }

  isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean {
    if (reason !== 'shutting-down') return false;
    return this.#jobs.isAskedAgain(monitorId, slot, region, this.#parts.clock.monotonic());
  }

  resultArrived(monitorId: number, slot: number, region: Region, tookMs: number | null): void {
    const job = this.#jobs.get(monitorId, region);
    // Checks that timed out last time share half of the agents' capacity and may have to wait for it. So
    // their delay is not measured.
    if (tookMs !== null && job?.slot === slot && !job.isAskedAgain && !this.#slowChecks.has(job.key)) {
      const delayMs = this.#parts.clock.monotonic() - job.startAt - tookMs;
      this.counters.resultDelay.record(Math.max(0, delayMs) / 1_000);
    }
    this.#jobs.resultArrived(monitorId, slot, region);
  }

  outcomeRecorded(outcome: SlotOutcome): void {
    const { monitorId, slot, region, is } = outcome;
    switch (is) {
      case 'reported':
        this.#countAnswer(outcome);
        this.#jobs.answerRecorded(monitorId, slot, region);
        return;
      case 'given-back':
        this.#jobs.jobGivenBack(monitorId, slot, region, this.#parts.clock.monotonic());
        return;
      default:
        is satisfies never;
    }
  }

  /** Counts a recorded answer, and marks its check as slow or not. */
  #countAnswer({ monitorId, region, timedOut, reason }: SlotOutcome): void {
    const key = jobKey(monitorId, region);
    this.#overload.resultRecorded();
    // A check that was not run says nothing about the speed of its target.
    if (reason === undefined) this.#slowChecks.markCheck(key, timedOut);
  }

  /**
   * Runs one attempt per region now. The results are not recorded.
   *
   * @param checkText JSON text of the check
   * @throws TooManyRuns
   * @throws BusDisconnected
   */
  runNow(checkText: Secret, regions: readonly Region[], timeoutMs: number): Promise<RegionAnswer[]> {
    return this.#runs.run(checkText, regions, timeoutMs);
  }

  /** Does the work of one tick. A failure is logged here, and the next tick tries again. */
  #tick(): void {
    const { clock, log } = this.#parts;
    const now = clock.monotonic();
    const lateMs = now - this.#tickDueAt;
    this.#tickDueAt = now + TICK_MS;
    if (lateMs > LATE_TICK_MS) {
      this.counters.ticksLate += 1;
      this.#silence.waitUntil(now + AFTER_LATE_MS);
    }
    try {
      this.#overload.tick(now);
      this.#endRestart();
      if (this.#knowsRegions(now)) this.#scheduler.tick(now);
      this.#judgeJobs(now);
      this.#publisher.publishJobs(now);
      this.#absent.tick(now);
    } catch (error) {
      log.error({ error }, 'dispatch failed in a tick');
    }
    this.#silence.judgeSilence(now);
  }

  /**
   * Handles an agent that is gone, before its region counts as lost. Its jobs are lost, unless it has
   * drained: the last heartbeat of a drained agent reports that it holds no jobs.
   */
  #agentGone({ region, isDraining, held }: KnownAgent): void {
    if (!isDraining || held > 0) this.#lostAgentIn.add(region);
  }

  /** Ends the resumption as soon as all results from before the start are recorded. */
  #endRestart(): void {
    if (this.#unread.size === 0) return;
    for (const region of this.#unread) if (this.#parts.readerCaughtUp(region)) this.#unread.delete(region);
    if (this.#unread.size === 0) this.#parts.recovery.endResumption();
  }

  #knowsRegions(now: number): boolean {
    if (now >= this.#openFrom) return true;
    if (this.agents.live().length === 0) return false;
    if (!this.#absent.areAllLive((region) => this.agents.isLive(region)) && !this.agents.isSettled())
      return false;
    this.#openFrom = now;
    return true;
  }

  #judgeJobs(now: number): void {
    for (const region of this.#lostAgentIn) this.#jobs.loseJobs(region, now);
    this.#lostAgentIn.clear();
    if (now >= this.#reconnectedUntil) {
      // Jobs that were sent before agents had reconnected may be lost.
      for (const region of this.#parts.presence.regions) this.#jobs.loseJobs(region, now);
      this.#reconnectedUntil = Number.POSITIVE_INFINITY;
    }
    if (this.#silence.canJudge(now)) this.#jobs.judgeSilentJobs(now);
  }

  #declarationChanged(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#absent.declarationChanged(before, after);
    this.#overload.declarationChanged(before, after);
    // The scheduler reads all monitors when it starts, so changes before its start need not be passed on.
    if (this.#isDispatching) this.#scheduler.declarationChanged(before, after);
    if (before === null) return;
    const isSameProbe = after?.version === before.version;
    if (!isSameProbe) this.#slowChecks.forgetMonitor(before.id);
    for (const region of before.regions ?? this.#parts.presence.regions) {
      const isStillChecked =
        after?.active === true && (after.regions === null || after.regions.includes(region));
      if (!isStillChecked || !isSameProbe) this.#jobs.withdrawJob(before.id, region);
    }
  }

  #connectionChanged(isConnected: boolean): void {
    if (!isConnected) return;
    const { clock, presence } = this.#parts;
    for (const region of presence.regions) this.agents.restartSilence(region);
    this.#reconnectedUntil = clock.monotonic() + HEARTBEAT_ROUND_MS;
    this.#silence.waitUntil(clock.monotonic() + HEARTBEAT_ROUND_MS);
  }
}
