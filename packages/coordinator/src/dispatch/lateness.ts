import { REGIONS, type Region } from '@svc/shared/regions.ts';
import {
  delayPressure,
  LATE_RESULT_MS,
  OUTAGE_RESULT_MS,
  type Pressure,
  VERY_LATE_RESULT_MS,
} from '../domain/admission.ts';
import { regionIndex } from './job.ts';
import { Recent } from './recent.ts';

/** Results of the last two steps are looked at, a second. */
const SHORT_STEPS = 2;
/** What lasts for fewer steps is a pause, and closes no gate. */
const LASTING_STEPS = 6;

/** The least delay of a region is that of the last one or two spans of so many steps, ten minutes. */
const LEAST_STEPS = 1_200;
/** No journey to a region and back takes longer, ms. */
const LONGEST_JOURNEY_MS = 1_000;

/** Of a region: what came, and what that shows in this step and since how many. */
type Sign = {
  readonly results: Recent;
  readonly late: Recent;
  readonly veryLate: Recent;
  pressure: ReturnType<typeof delayPressure>;
  lateSteps: number;
  /** Least delays of this span and the one before, ms. */
  leastMs: number;
  leastBeforeMs: number;
};

/**
 * Sees that checks begin late, by when their results come: all that delays a check on its way (this thread,
 * the messages, the agent's queue) is in it, the check itself is not, and no two clocks are compared. A
 * region may be far away: what counts is what results are delayed beyond the quickest of its own.
 */
export class Lateness {
  readonly #regions: readonly Sign[] = REGIONS.map(() => ({
    results: new Recent(),
    late: new Recent(),
    veryLate: new Recent(),
    pressure: null,
    lateSteps: 0,
    leastMs: LONGEST_JOURNEY_MS,
    leastBeforeMs: LONGEST_JOURNEY_MS,
  }));
  #steps = 0;
  #everywhere: 'free' | 'late' | 'overloaded' = 'free';
  #everywhereSteps = 0;

  /** @param delayMs from the slot until its result came, less the time that the check took */
  arrived(region: Region, delayMs: number): void {
    if (delayMs > OUTAGE_RESULT_MS) return;
    const sign = this.#of(region);
    // Not below 0, which only an agent could bring about that makes up how long a check took.
    sign.leastMs = Math.min(sign.leastMs, Math.max(0, delayMs));
    const beyondMs = delayMs - Math.min(sign.leastMs, sign.leastBeforeMs);
    sign.results.add(1);
    if (beyondMs >= LATE_RESULT_MS) sign.late.add(1);
    if (beyondMs >= VERY_LATE_RESULT_MS) sign.veryLate.add(1);
  }

  /** @param isExcused results were kept back by something else */
  step(isExcused: boolean): void {
    this.#steps += 1;
    if (this.#steps % LEAST_STEPS === 0) this.#forgetLeast();
    for (const sign of this.#regions) {
      const { results, late, veryLate } = sign;
      sign.pressure = isExcused
        ? null
        : delayPressure({
            results: results.last(SHORT_STEPS),
            late: late.last(SHORT_STEPS),
            veryLate: veryLate.last(SHORT_STEPS),
          });
      sign.lateSteps = isLate(sign.pressure) ? sign.lateSteps + 1 : 0;
      for (const each of [results, late, veryLate]) each.step();
    }
    const seen = this.#regions.flatMap(({ pressure }) => pressure ?? []);
    const isEverywhere = seen.length > 0 && seen.every(isLate);
    this.#everywhereSteps = isEverywhere ? this.#everywhereSteps + 1 : 0;
    this.#everywhere = !isEverywhere ? 'free' : seen.includes('late') ? 'late' : 'overloaded';
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

  #forgetLeast(): void {
    for (const sign of this.#regions) {
      sign.leastBeforeMs = sign.leastMs;
      sign.leastMs = LONGEST_JOURNEY_MS;
    }
  }

  #of(region: Region): Sign {
    return this.#regions[regionIndex(region)] as Sign;
  }
}

function isLate(pressure: Sign['pressure']): boolean {
  return pressure === 'late' || pressure === 'overloaded';
}

function lasting(pressure: 'free' | 'late' | 'overloaded', lateSteps: number, isOpen: boolean): Pressure {
  return isLate(pressure) && isOpen && lateSteps < LASTING_STEPS ? 'busy' : pressure;
}
