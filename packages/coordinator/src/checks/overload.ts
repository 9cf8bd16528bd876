import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import { regionIndex } from '../verdict/region-set.ts';
import {
  type Backlog,
  factorOfWorkspace,
  isFallingBehind,
  isLagging,
  isRegionOverloaded,
  LAG_MS,
  nextThinning,
  runsUnder,
  type Thinning,
  unthinned,
} from '../verdict/thinning.ts';
import type { Agents } from './agents.ts';
import type { AskingSlot, Shedding } from './scheduler.ts';

/** Interval at which the signs of overload are checked, ms. */
const LOOK_MS = 1_000;
/**
 * Longest delay of a check after its slot while slots are left out, and during a trial, ms. A check that
 * cannot begin in time does not run, so no queue grows at the agents.
 */
const SHORT_WAIT_MS = 250;
/**
 * Least time between two log lines about the same overload, ms: of the recording, of
 * the scheduling, or of one region.
 */
const ALARM_EVERY_MS = 60_000;

const ADVICE = {
  recording:
    'results come faster than they are recorded, so slots are left out: give the coordinator a faster disk or CPU, or declare fewer checks',
  scheduling:
    'this process cannot schedule all checks, so slots are left out: give the coordinator a faster CPU, or declare fewer checks',
  region:
    'the agents of a region cannot run all its checks, so slots are left out there: add agents in the region',
} as const;

type Cause = Exclude<keyof typeof ADVICE, 'region'>;

export type OverloadParts = {
  clock: Clock;
  log: Logger;
  agents: Pick<Agents, 'loadOf'>;
  /** The regions of the installation. */
  regions: readonly Region[];
  counters: DispatchCounters;
  /** Returns the number of unrecorded events, and the age of the oldest event. Called every second. */
  backlog: () => Backlog;
};

/** The thinning of all regions together, or of one region. `state` is replaced at each change. */
type Thinned = { state: Thinning };

/**
 * Leaves out slots while more checks are due than can run. A common factor doubles while the recording lags
 * or slots are opened seconds late. Each region also has a factor, which doubles while its agents have no
 * room for checks or begin them late (`isRegionOverloaded`). The factor of a region leaves slots out in this
 * region only. A first slot is never left out.
 */
export class Overload implements Shedding {
  readonly #parts: OverloadParts;
  readonly #whole: Thinned;
  /** By the region's index. */
  readonly #regions: Thinned[] = [];
  /** The number of slots a day (an integer) that the active monitors of each workspace request. */
  readonly #asked = new Map<number, number>();
  /** The largest number of slots a day that a workspace requests; null: it must be computed again. */
  #mostAsked: number | null = null;
  readonly #alarmedAt = new Map<string, number>();
  #cause: Cause = 'recording';
  #lookAt: number;
  #backlog: Backlog = { events: 0, oldestMs: 0 };
  #recorded = 0;
  /** The longest delay of a slot that was opened or left out, ms: since the last look, and before it. */
  #latestMs = 0;
  #latestBeforeMs = 0;

  constructor(parts: OverloadParts) {
    this.#parts = parts;
    const now = parts.clock.monotonic();
    this.#whole = { state: unthinned(now) };
    this.#lookAt = now + LOOK_MS;
  }

  /** Counts the slots that the active monitors of each workspace request. */
  declarationChanged(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#countAsked(before, -1);
    this.#countAsked(after, 1);
  }

  admitsSlot(monitor: LiveMonitor, asking: AskingSlot, jobs: number): boolean {
    this.#latestMs = Math.max(this.#latestMs, asking.lateMs);
    if (this.#runs(this.#whole, monitor, asking)) return true;
    this.#parts.counters.jobsSkipped[`${this.#cause}-overloaded`] += jobs;
    return false;
  }

  admits(monitor: LiveMonitor, asking: AskingSlot, region: Region): boolean {
    if (this.#runs(this.#of(region), monitor, asking)) return true;
    this.#parts.counters.jobsSkipped['region-overloaded'] += 1;
    return false;
  }

  /** Whether the oldest unrecorded event had waited for {@link LAG_MS} or more at the last look. */
  get isBehind(): boolean {
    return this.#backlog.oldestMs >= LAG_MS;
  }

  /** Counts a recorded result. */
  resultRecorded(): void {
    this.#recorded += 1;
  }

  /**
   * Longest time after its slot at which a check in the region may begin, ms; infinite: overload sets no
   * bound.
   */
  startWithinMs(region: Region): number {
    const isWatched = [this.#whole, this.#of(region)].some(({ state }) => state.factor > 1 || state.isTrial);
    return isWatched ? SHORT_WAIT_MS : Number.POSITIVE_INFINITY;
  }

  /**
   * Checks the signs of overload once a second. Called in every tick.
   *
   * @param now monotonic, ms
   */
  tick(now: number): void {
    if (now < this.#lookAt) return;
    this.#lookAt = now + LOOK_MS;
    this.#lookAtWhole(now);
    for (const region of this.#parts.regions) this.#lookAtRegion(region, now);
  }

  #lookAtWhole(now: number): void {
    const backlog = this.#parts.backlog();
    const lags = isLagging(this.#backlog, backlog, this.#recorded);
    const isBehind = isFallingBehind(this.#latestBeforeMs, this.#latestMs);
    this.#backlog = backlog;
    this.#latestBeforeMs = this.#latestMs;
    this.#recorded = this.#latestMs = 0;
    if (lags || isBehind) this.#cause = lags ? 'recording' : 'scheduling';
    if (this.#updateThinning(this.#whole, lags || isBehind, now))
      this.#alarm(this.#cause, { factor: this.#whole.state.factor });
  }

  #lookAtRegion(region: Region, now: number): void {
    const thinned = this.#of(region);
    const isOverloaded = isRegionOverloaded(this.#parts.agents.loadOf(region), thinned.state);
    if (this.#updateThinning(thinned, isOverloaded, now))
      this.#alarm('region', { region, factor: thinned.state.factor });
  }

  /** @returns whether the factor has grown */
  #updateThinning(thinned: Thinned, isOverloaded: boolean, now: number): boolean {
    const { factor } = thinned.state;
    thinned.state = nextThinning(thinned.state, isOverloaded, now);
    return thinned.state.factor > factor;
  }

  #runs(
    { state }: Thinned,
    { id, workspaceId, periodMs }: LiveMonitor,
    { slot, isFirst }: AskingSlot,
  ): boolean {
    if (state.factor === 1 || isFirst) return true;
    const factor = factorOfWorkspace(state.factor, (this.#asked.get(workspaceId) ?? 0) / this.#most());
    return runsUnder(factor, id, slot, periodMs);
  }

  #countAsked(monitor: LiveMonitor | null, sign: 1 | -1): void {
    if (monitor === null || !monitor.active) return;
    const { workspaceId, periodMs } = monitor;
    this.#asked.set(workspaceId, (this.#asked.get(workspaceId) ?? 0) + (sign * 86_400_000) / periodMs);
    this.#mostAsked = null;
  }

  #most(): number {
    this.#mostAsked ??= Math.max(...this.#asked.values());
    return this.#mostAsked;
  }

  #alarm(kind: keyof typeof ADVICE, details: { factor: number; region?: Region }): void {
    const { clock, counters, log } = this.#parts;
    if (details.factor === 2) counters.overloads[kind] += 1;
    const key = `${kind} ${details.region ?? ''}`;
    const now = clock.monotonic();
    if (now - (this.#alarmedAt.get(key) ?? Number.NEGATIVE_INFINITY) < ALARM_EVERY_MS) return;
    this.#alarmedAt.set(key, now);
    log.error(details, ADVICE[kind]);
  }

  #of(region: Region): Thinned {
    const index = regionIndex(region);
    this.#regions[index] ??= { state: unthinned(this.#parts.clock.monotonic()) };
    return this.#regions[index];
  }
}
