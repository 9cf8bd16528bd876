import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitors } from '../domain/monitor.ts';
import type { SlotEvents, SlotOutcome, SlotRecovery } from '../domain/slots.ts';
import type { Agents, KnownAgent } from './agents.ts';
import { EarlyReports } from './early-reports.ts';
import type { InFlight } from './in-flight.ts';
import { Restart } from './restart.ts';
import { MOST_AHEAD_MS } from './scheduler.ts';
import type { SlotClock } from './slot-clock.ts';

/** Time by which the slots that were missed over a restart are caught up, ms. */
const FORGET_REPORTS_MS = 60_000;

export type EarlierLifeParts = {
  monitors: LiveMonitors;
  slotClock: SlotClock;
  agents: Agents;
  inFlight: InFlight;
  events: SlotEvents;
  recovery: SlotRecovery;
  /** Newest slot that the monitor was given, as far as recorded and believed; null: none. */
  newestSlot: (monitorId: number) => number | null;
  /** Slots up to this one are not about what is probed now; 0: none is known. */
  floorSlot: (monitorId: number) => number;
  /** Whether all that the region's stream held at the start is recorded. */
  readerCaughtUp: (region: Region) => boolean;
};

/**
 * What an earlier life of the coordinator has left: jobs that agents hold, reports in the streams, and slots
 * that are not decided.
 *
 *     hear: heartbeats name held jobs ──▶ begin: dispatch goes on ──▶ tick: slots are continued as the streams
 *                                                                    are read, and the reports are forgotten
 */
export class EarlierLife {
  readonly #parts: EarlierLifeParts;
  readonly #restart: Restart;
  /** Null: its slots are over. */
  #reports: EarlyReports | null = new EarlyReports();
  #forgetAt = Number.POSITIVE_INFINITY;
  /** True while the table is rebuilt from heartbeats. */
  #isHearing = false;

  constructor(parts: EarlierLifeParts) {
    const { agents: regions, monitors, inFlight, events, recovery, slotClock, readerCaughtUp } = parts;
    this.#parts = parts;
    this.#restart = new Restart({
      recovery,
      unrecorded: () => this.#reports?.unrecorded() ?? [],
      monitors,
      regions,
      inFlight,
      events,
      slotClock,
      readerCaughtUp,
    });
  }

  /** Whether agents may hold jobs of it: a coordinator that never recorded anything gave none. */
  mayHaveJobs(): boolean {
    const { monitors, newestSlot, recovery } = this.#parts;
    for (const monitor of monitors.values()) {
      if (newestSlot(monitor.id) !== null) return true;
    }
    for (const _ of recovery.undecidedSlots()) return true;
    return false;
  }

  /** Takes up the jobs that agents name until `heard` resolves. */
  async hear(heard: Promise<void>): Promise<void> {
    this.#isHearing = true;
    await heard;
    this.#isHearing = false;
  }

  /**
   * An agent holds a job that is not in the table. While the agents are heard, it is one of the earlier life;
   * later, one whose result is recorded already. An agent is believed only what its region can have been
   * given: a slot further ahead than jobs are sent would make the evaluation skip all slots before it.
   */
  held(agent: KnownAgent, monitorId: number, slot: number, now: number): void {
    if (!this.#isHearing) return;
    const { monitors, slotClock, inFlight, floorSlot } = this.#parts;
    const monitor = monitors.get(monitorId);
    if (monitor === undefined || slot > slotClock.now() + MOST_AHEAD_MS) return;
    if (monitor.regions !== null && !monitor.regions.includes(agent.region)) return;
    if (this.hasReported(monitorId, slot, agent.region)) return;
    // Nobody waits for a check of what was probed before.
    inFlight.adopt(monitor, slot, agent, now, slot > floorSlot(monitorId));
  }

  hasReported(monitorId: number, slot: number, region: Region): boolean {
    return this.#reports?.has({ monitorId, slot, region }) === true;
  }

  /** Notes that the result was read. */
  arrived(monitorId: number, slot: number, region: Region): void {
    this.#reports?.arrived({ monitorId, slot, region });
  }

  /** Notes that the outcome is recorded. */
  settled({ monitorId, slot, region, is }: SlotOutcome): void {
    if (is === 'given-back') this.#reports?.givenBack({ monitorId, slot, region });
    else this.#reports?.recorded({ monitorId, slot, region });
  }

  /** Dispatch goes on: later slots belong to this life. `now`: monotonic ms. */
  begin(now: number): void {
    this.#reports?.endAt(this.#parts.slotClock.now() + MOST_AHEAD_MS);
    this.#forgetAt = now + FORGET_REPORTS_MS;
  }

  /** To be called in every tick after {@link begin}. */
  tick(now: number): void {
    if (now >= this.#forgetAt) this.#reports = null;
    this.#restart.tick(now);
  }
}
