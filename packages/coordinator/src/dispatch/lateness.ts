import { REGIONS, type Region } from '@svc/shared/regions.ts';
import {
  type DelayPressure,
  delayPressure,
  LEAST_BESIDE_OTHERS,
  LEAST_RESULTS,
  OUTAGE_RESULT_MS,
  type Pressure,
  sumOf,
} from '../domain/admission.ts';
import { regionIndex } from './job.ts';
import { RegionLateness } from './region-lateness.ts';

/** What lasts for fewer steps is a pause, and closes no gate. */
const LASTING_STEPS = 6;
/** The least delay of a region is that of the last one or two spans of so many steps, ten minutes. */
const LEAST_STEPS = 1_200;

/**
 * Sees that checks begin late, by when their results come: all that delays a check on its way (this thread,
 * the messages, the agent's queue) is in it, the check itself is not, and no two clocks are compared. A
 * region may be far away: what counts is what results are delayed beyond the quickest of its own. And an
 * agent may be slow for itself: that is no reason to give the others less to do.
 */
export class Lateness {
  readonly #regions: readonly RegionLateness[] = REGIONS.map(() => new RegionLateness());
  #steps = 0;
  #everywhere: DelayPressure = 'free';
  #everywhereSteps = 0;

  /**
   * @param agent who ran the check; null: he has not said so
   * @param delayMs from the slot until its result came, less the time that the check took
   */
  arrived(region: Region, agent: object | null, delayMs: number): void {
    if (delayMs <= OUTAGE_RESULT_MS) this.#of(region).arrived(agent, delayMs);
  }

  /** @param isExcused results were kept back by something else */
  step(isExcused: boolean): void {
    this.#steps += 1;
    if (this.#steps % LEAST_STEPS === 0) for (const region of this.#regions) region.forgetLeast();
    for (const region of this.#regions) region.judge(isExcused);
    this.#everywhere = isExcused ? 'free' : this.#pressureEverywhere();
    this.#everywhereSteps = this.#everywhere === 'free' ? 0 : this.#everywhereSteps + 1;
    for (const region of this.#regions) region.step();
  }

  /** It shows in all regions from which enough is heard, since this step or longer. */
  get isEverywhere(): boolean {
    return this.#everywhereSteps > 0;
  }

  /**
   * In all regions from which enough is heard: then it is the machine that they share, or this process.
   *
   * @param isOpen nothing is limited so far
   */
  everywhere(isOpen: boolean): Pressure {
    return lasting(this.#everywhere, this.#everywhereSteps, isOpen);
  }

  /** In the region alone; where it is everywhere, no region has to answer for it. */
  of(region: Region, isOpen: boolean): Pressure {
    if (this.isEverywhere) return 'busy';
    const { pressure, lateSteps } = this.#of(region);
    return lasting(pressure ?? 'free', lateSteps, isOpen);
  }

  /** Regions with too few results for themselves are asked together: what is in time there is not late everywhere. */
  #pressureEverywhere(): DelayPressure {
    const seen = this.#regions.flatMap(({ pressure }) => pressure ?? []);
    const small = this.#regions.filter(({ pressure }) => pressure === null).map(({ recent }) => recent);
    const least = seen.length === 0 ? LEAST_RESULTS : LEAST_BESIDE_OTHERS;
    const together = delayPressure(sumOf(small), least);
    if (together !== null) seen.push(together);
    if (seen.length === 0 || seen.includes('free')) return 'free';
    return seen.includes('late') ? 'late' : 'overloaded';
  }

  #of(region: Region): RegionLateness {
    return this.#regions[regionIndex(region)] as RegionLateness;
  }
}

function lasting(pressure: DelayPressure, lateSteps: number, isOpen: boolean): Pressure {
  return pressure !== 'free' && isOpen && lateSteps < LASTING_STEPS ? 'busy' : pressure;
}
