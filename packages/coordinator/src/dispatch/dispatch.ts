import type { Bus } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { AgentMessage } from '@svc/shared/messages/heartbeat.ts';
import { pause } from '@svc/shared/pause.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
import type { SlotEvents, SlotOutcome, SlotOutcomes, SlotRecovery } from '../domain/slots.ts';
import type { Backlog } from '../domain/thinning.ts';
import { AbsentRegions } from './absent-regions.ts';
import { AgentMessages } from './agent-messages.ts';
import { Agents, HEARTBEAT_ROUND_MS } from './agents.ts';
import { type DispatchCounters, newCounters } from './counters.ts';
import { EarlierLife } from './earlier-life.ts';
import { InFlight } from './in-flight.ts';
import { jobKey } from './job.ts';
import type { JobTokens } from './job-tokens.ts';
import { ManualRuns, type RegionAnswer } from './manual-runs.ts';
import { Overload } from './overload.ts';
import { Publisher } from './publisher.ts';
import { RegionEars } from './region-ears.ts';
import type { RegionPresence } from './region-presence.ts';
import { Scheduler } from './scheduler.ts';
import { SilenceJudge } from './silence-judge.ts';
import type { SlotClock } from './slot-clock.ts';
import { SlowChecks } from './slow-checks.ts';

/** Interval at which slots are opened and jobs are published, ms. */
const TICK_MS = 50;
/**
 * Delay of a tick after which the process counts as having stood still, ms: messages may then wait in the
 * socket, and silence means nothing.
 */
const LATE_TICK_MS = 250;
/** Time after a late tick during which no silence is judged, ms. */
const AFTER_LATE_MS = 500;
/** Interval at which unpublished jobs are checked, ms. */
const EXPIRE_EVERY_MS = 500;

export type DispatchParts = {
  bus: Bus;
  clock: Clock;
  log: Logger;
  monitors: LiveMonitors;
  events: SlotEvents;
  tokens: Pick<JobTokens, 'tokenOf'>;
  slotClock: SlotClock;
  /** Must be loaded before. */
  presence: RegionPresence;
  /** Newest slot that the monitor was given, as far as recorded and believed; null: none. Asked at the start. */
  newestSlot: (monitorId: number) => number | null;
  /** Slots up to this one are not about what is probed now; 0: none is known. Asked at the start. */
  floorSlot: (monitorId: number) => number;
  /**
   * Whether all results that the region's stream held a moment ago (up to 2 s) are recorded and were reported
   * to {@link Dispatch.settled}. Asked in every tick while it matters.
   */
  readerCaughtUp: (region: Region) => boolean;
  recovery: SlotRecovery;
  /** Answers what waits to be recorded. Called every second. */
  backlog: () => Backlog;
};

/**
 * Gives checks to regions: from the slot that is due to the recorded result. It lives for one term of
 * leading, and is not started a second time.
 */
export class Dispatch implements SlotOutcomes {
  readonly counters: DispatchCounters = newCounters();
  readonly agents: Agents;
  readonly #parts: DispatchParts;
  readonly #overload: Overload;
  readonly #inFlight: InFlight;
  readonly #scheduler: Scheduler;
  readonly #publisher: Publisher;
  readonly #ears: RegionEars;
  readonly #runs: ManualRuns;
  readonly #earlierLife: EarlierLife;
  readonly #slowChecks = new SlowChecks();
  readonly #absent: AbsentRegions;
  readonly #silence: SilenceJudge;
  /** Regions in which the server said that nobody listens. */
  readonly #deaf = new Set<Region>();
  readonly #stopping = new AbortController();
  #listening: Promise<void> | null = null;
  #stops: (() => void)[] = [];
  #hearing: Promise<void> = Promise.resolve();
  #isDispatching = false;
  #tickDueAt = 0;
  #expireAt = 0;

  constructor(parts: DispatchParts) {
    this.#parts = parts;
    const { clock, log, events, presence, readerCaughtUp, bus, tokens } = parts;
    const { counters } = this;
    this.#absent = new AbsentRegions({ log, counters, presence });
    this.agents = new Agents({
      clock,
      log,
      counters,
      onRegionLive: (region) => presence.came(region),
      onRegionLost: (region, lastSeenAt) => this.#absent.lost(region, lastSeenAt),
      onGone: (agent) => this.#inFlight.agentGone(agent, clock.monotonic()),
    });
    this.#overload = new Overload({
      ...parts,
      agents: this.agents,
      counters,
    });
    this.#inFlight = new InFlight({ events, counters, readerCaughtUp });
    this.#scheduler = new Scheduler({
      ...parts,
      regions: this.agents,
      inFlight: this.#inFlight,
      counters,
      overload: this.#overload,
      hasReported: (...job) => this.#earlierLife.hasReported(...job),
    });
    this.#publisher = new Publisher({
      bus,
      log,
      agents: this.agents,
      inFlight: this.#inFlight,
      slowChecks: this.#slowChecks,
      tokens,
      counters,
      overload: this.#overload,
      onNoResponders: (region) => this.#deaf.add(region),
    });
    const messages = new AgentMessages({
      clock,
      log,
      counters,
      onMessage: (region, message) => this.#onMessage(region, message),
    });
    this.#ears = new RegionEars({
      bus,
      clock,
      log,
      counters,
      onMessage: (region, message) => messages.handle(region, message),
      onHearing: (region) => this.#hears(region),
    });
    this.#silence = new SilenceJudge({
      bus,
      log,
      ears: this.#ears,
      agents: this.agents,
      inFlight: this.#inFlight,
      signal: this.#stopping.signal,
    });
    this.#runs = new ManualRuns({ bus, clock });
    this.#earlierLife = new EarlierLife({ ...parts, agents: this.agents, inFlight: this.#inFlight });
  }

  /** Number of jobs that are not reported yet. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** The regions that active monitors declare or that have a live agent, in the fixed order. */
  get regions(): readonly Region[] {
    return REGIONS.filter((region) => this.#absent.isDeclared(region) || this.agents.isLive(region));
  }

  /** Regions whose agents send more than is read, and are not heard for a while. */
  get muted(): readonly Region[] {
    return this.#ears.muted;
  }

  /**
   * Follows the declaration, and resolves when agents are heard. If jobs of an earlier life may exist, the next
   * round of heartbeats (2.5 s) reports them. Other parts may start in this time.
   */
  listen(): Promise<void> {
    this.#listening ??= this.#listen();
    return this.#listening;
  }

  async #listen(): Promise<void> {
    const { bus, monitors, presence } = this.#parts;
    this.#publisher.start();
    this.#runs.start();
    presence.start();
    this.#stops.push(bus.onConnection((isConnected) => this.#connectionChanged(isConnected)));
    for (const monitor of monitors.values()) {
      this.#absent.changed(null, monitor);
      this.#overload.changed(null, monitor);
    }
    this.#stops.push(monitors.onChange((before, after) => this.#declarationChanged(before, after)));
    await this.#ears.open();
    if (this.#stopping.signal.aborted) return;
    if (this.#earlierLife.mayHaveJobs()) this.#hearing = this.#earlierLife.hear(this.#agentsHeard());
  }

  /**
   * Listens, unless {@link listen} was called before, and begins to dispatch when the agents are heard.
   * Resolves when it has begun, or was stopped before.
   */
  async start(): Promise<void> {
    const { clock } = this.#parts;
    await this.listen();
    await this.#hearing;
    if (this.#stopping.signal.aborted) return;
    this.#earlierLife.begin(clock.monotonic());
    this.#isDispatching = true;
    this.#scheduler.start();
    this.#tickDueAt = clock.monotonic();
    this.#absent.start(clock.monotonic());
    this.#stops.push(clock.every(TICK_MS, () => this.#tick()));
    this.#tick();
  }

  /** Stops. Agents keep the jobs under way; the next life learns of them from heartbeats. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const stop of this.#stops) stop();
    this.#stops = [];
    await this.#ears.close();
    this.#publisher.stop();
    this.#runs.stop();
    await this.#parts.presence.stop();
  }

  /** See {@link Scheduler.openAhead}. */
  openAhead(ms: number): void {
    this.#scheduler.openAhead(ms);
  }

  /** Resolves when all messages that agents had sent are handled, in all regions that can be heard. */
  async allHeard(): Promise<void> {
    await this.#ears.allCaughtUp();
  }

  isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean {
    if (reason !== 'shutting-down') return false;
    return this.#inFlight.isOfferedAgain(monitorId, slot, region, this.#parts.clock.monotonic());
  }

  arrived(monitorId: number, slot: number, region: Region, tookMs: number | null): void {
    this.#earlierLife.arrived(monitorId, slot, region);
    const job = this.#inFlight.get(monitorId, region);
    // Only agents that took the job at once count: an offer without an answer delays a job for other reasons.
    // Checks that timed out before wait for their half of the agents' places, while the others begin in time.
    if (tookMs !== null && job?.slot === slot && job.offers === 1 && !this.#slowChecks.has(job.key)) {
      const delayMs = this.#parts.clock.monotonic() - job.startAt - tookMs;
      this.counters.resultDelay.record(Math.max(0, delayMs) / 1_000);
    }
    this.#inFlight.recorded(monitorId, slot, region);
  }

  settled(outcome: SlotOutcome): void {
    const { monitorId, slot, region, is } = outcome;
    this.#earlierLife.settled(outcome);
    switch (is) {
      case 'reported':
        this.#reported(outcome);
        this.#inFlight.recorded(monitorId, slot, region);
        return;
      case 'given-back':
        this.#inFlight.givenBack(monitorId, slot, region, this.#parts.clock.monotonic());
        return;
      default:
        is satisfies never;
    }
  }

  /** The job has not ended yet, and knows its agent. */
  #reported({ monitorId, region, timedOut, reason }: SlotOutcome): void {
    const key = jobKey(monitorId, region);
    this.#overload.recorded();
    // A check that was not run says nothing about its target.
    if (reason === undefined) this.#slowChecks.set(key, timedOut);
  }

  /**
   * Runs one attempt per region now; it is not recorded.
   *
   * @param checkText JSON text of the check
   * @throws TooManyRuns
   * @throws BusDisconnected
   */
  runNow(checkText: Secret, regions: readonly Region[], timeoutMs: number): Promise<RegionAnswer[]> {
    return this.#runs.run(checkText, regions, timeoutMs);
  }

  /** The one place that handles dispatch's failures: they are logged, and tried again with the next tick. */
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
      this.#earlierLife.tick(now);
      this.#scheduler.tick(now);
      this.#inFlight.loseMissing(now);
      this.#expire(now);
      this.#publisher.publish(now);
      this.#absent.tick(now);
    } catch (error) {
      log.error({ error }, 'dispatch failed in a tick');
    }
    this.#silence.judge(now);
  }

  #onMessage(region: Region, message: AgentMessage): void {
    const now = this.#parts.clock.monotonic();
    switch (message.kind) {
      case 'heartbeat': {
        const agent = this.agents.heartbeat(region, message);
        if (agent === null) return;
        this.#inFlight.heartbeat(agent, message.held, now, (id, slot) =>
          this.#earlierLife.held(agent, id, slot, now),
        );
        if (!agent.isDraining && this.#deaf.delete(region)) this.#inFlight.offerAgain(region);
        return;
      }
      case 'acceptance': {
        const agent = this.agents.seen(region, message.agent, message.boot);
        if (agent !== null) this.#inFlight.acceptance(agent, message, now);
        return;
      }
      case 'run_outcome':
        this.#runs.outcome(region, message);
        return;
      default:
        message satisfies never;
    }
  }

  /** Resolves after one round of heartbeats. */
  async #agentsHeard(): Promise<void> {
    await pause(this.#parts.clock, HEARTBEAT_ROUND_MS, this.#stopping.signal);
    // Parts that start meanwhile may have held the thread: arrived heartbeats are handled first.
    await this.allHeard();
  }

  #declarationChanged(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#absent.changed(before, after);
    this.#overload.changed(before, after);
    // Before its start the scheduler plans nothing; then it takes the monitors as they are.
    if (this.#isDispatching) this.#scheduler.changed(before, after);
    if (before === null) return;
    const isSameProbe = after?.version === before.version;
    if (!isSameProbe) this.#slowChecks.forget(before.id);
    for (const region of before.regions ?? REGIONS) {
      const isStillChecked =
        after?.active === true && (after.regions === null || after.regions.includes(region));
      if (!isStillChecked || !isSameProbe) this.#inFlight.withdraw(before.id, region);
    }
  }

  #connectionChanged(isConnected: boolean): void {
    if (!isConnected) return;
    const { clock } = this.#parts;
    for (const region of REGIONS) this.#hears(region);
    this.#silence.waitUntil(clock.monotonic() + HEARTBEAT_ROUND_MS);
  }

  /** Restarts the count of silence; live agents report at once. */
  #hears(region: Region): void {
    this.agents.hears(region);
    this.#publisher.callRoll(region);
  }

  #expire(now: number): void {
    if (now < this.#expireAt) return;
    this.#expireAt = now + EXPIRE_EVERY_MS;
    this.#inFlight.expireQueued(now);
  }
}
