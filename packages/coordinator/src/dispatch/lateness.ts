import { REGIONS, type Region } from '@svc/shared/regions.ts';
import {
  type DelayPressure,
  delayPressure,
  isLate,
  LEAST_BESIDE_OTHERS,
  LEAST_RESULTS,
  OUTAGE_RESULT_MS,
  type Pressure,
  sumOf,
} from '../domain/pressure.ts';
import { regionIndex } from './job.ts';
import { RegionLateness } from './region-lateness.ts';

/** Lateness that lasts for fewer steps is a pause and closes no gate. */
const LASTING_STEPS = 6;
/** Steps in a span of ten minutes; a region's least delay is that of the last one or two spans. */
const LEAST_STEPS = 1_200;

/**
 * Detects that checks begin late, from the times at which their results come.
 *
 * A delay includes everything that holds a check up on its way: this thread, the messages, the agent's queue.
 * It leaves out the check itself, and compares no two clocks. A region may be far away, so only the delay
 * beyond the quickest results of the same region counts. A single slow agent is no reason to give the other
 * agents less work.
 */
export class Lateness {
  /** Those of which results have come or checks were dropped, by the index of the region. */
  readonly #regions: (RegionLateness | undefined)[] = REGIONS.map(() => undefined);
  readonly #seen: RegionLateness[] = [];
  #steps = 0;
  #everywhere: DelayPressure = 'free';
  #everywhereSteps = 0;

  /**
   * @param agent the one that ran the check; null: it is not known
   * @param delayMs from the slot until its result came, less the time that the check took
   * @param tripMs how long answers to offers take in the region at the least, ms
   */
  arrived(region: Region, agent: object | null, delayMs: number, tripMs = 0): void {
    if (delayMs <= OUTAGE_RESULT_MS) this.#of(region).arrived(agent, delayMs, tripMs);
  }

  /** The agent has dropped a check that could not begin in time. */
  dropped(region: Region, agent: object | null): void {
    this.#of(region).dropped(agent);
  }

  /** @param isExcused something else held results back */
  step(isExcused: boolean): void {
    this.#steps += 1;
    if (this.#steps % LEAST_STEPS === 0) for (const region of this.#seen) region.forgetLeast();
    for (const region of this.#seen) region.judge(isExcused);
    this.#everywhere = isExcused ? 'free' : this.#pressureEverywhere();
    this.#everywhereSteps = isLate(this.#everywhere) ? this.#everywhereSteps + 1 : 0;
    for (const region of this.#seen) region.step();
  }

  /** Whether checks are late in all regions with enough results, in this step or longer. */
  get isEverywhere(): boolean {
    return this.#everywhereSteps > 0;
  }

  /**
   * The pressure in all regions with enough results. Its cause is a machine that they share, or this process.
   *
   * @param isOpen nothing is limited so far
   */
  everywhere(isOpen: boolean): Pressure {
    return lasting(this.#everywhere, this.#everywhereSteps, isOpen);
  }

  /** The pressure in one region alone; when all regions are late, no single one is to blame. */
  of(region: Region, isOpen: boolean): Pressure {
    if (this.isEverywhere) return 'busy';
    const seen = this.#regions[regionIndex(region)];
    return seen === undefined ? 'free' : lasting(seen.pressure ?? 'free', seen.lateSteps, isOpen);
  }

  /**
   * Regions with too few results of their own are judged together: if they are in time, not all regions are
   * late.
   */
  #pressureEverywhere(): DelayPressure {
    const seen = this.#seen.flatMap(({ pressure }) => pressure ?? []);
    const small = this.#seen.filter(({ pressure }) => pressure === null).map(({ recent }) => recent);
    const least = seen.length === 0 ? LEAST_RESULTS : LEAST_BESIDE_OTHERS;
    const together = delayPressure(sumOf(small), least);
    if (together !== null) seen.push(together);
    if (seen.length === 0 || seen.includes('free')) return 'free';
    if (seen.includes('busy')) return 'busy';
    return seen.includes('late') ? 'late' : 'overloaded';
  }

  #of(region: Region): RegionLateness {
    const index = regionIndex(region);
    let lateness = this.#regions[index];
    if (lateness === undefined) {
      lateness = new RegionLateness();
      this.#regions[index] = lateness;
      this.#seen.push(lateness);
    }
    return lateness;
  }
}

function lasting(pressure: DelayPressure, lateSteps: number, isOpen: boolean): Pressure {
  return isLate(pressure) && isOpen && lateSteps < LASTING_STEPS ? 'busy' : pressure;
}
