import { agentsPressure, type DelayPressure, type Delays } from '../domain/admission.ts';
import { Arrivals } from './arrivals.ts';

/** Results of the last two steps are looked at, a second. */
const SHORT_STEPS = 2;
/** Where these are too few, those of more steps. */
const LONG_STEPS = 4;
/** No journey to a region and back takes longer, ms. */
const LONGEST_JOURNEY_MS = 1_000;

/** What the results of one region show by when they come. */
export class RegionLateness {
  readonly #all = new Arrivals();
  /** By who ran the check; null: he has not said so. */
  readonly #byAgent = new Map<object | null, Arrivals>();
  /** Least delays of this span and the one before, ms. */
  #leastMs = LONGEST_JOURNEY_MS;
  #leastBeforeMs = LONGEST_JOURNEY_MS;
  #pressure: DelayPressure | null = null;
  #lateSteps = 0;

  /** In this step; null: there are too few results to tell, or they are excused. */
  get pressure(): DelayPressure | null {
    return this.#pressure;
  }

  /** Since how many steps it is late. */
  get lateSteps(): number {
    return this.#lateSteps;
  }

  /** Of somewhat longer, for regions with few results. */
  get recent(): Delays {
    return this.#all.last(LONG_STEPS);
  }

  arrived(agent: object | null, delayMs: number): void {
    // Not below 0, which only an agent could bring about that makes up how long a check took.
    this.#leastMs = Math.min(this.#leastMs, Math.max(0, delayMs));
    const beyondMs = delayMs - Math.min(this.#leastMs, this.#leastBeforeMs);
    this.#all.add(beyondMs);
    let ofAgent = this.#byAgent.get(agent);
    if (ofAgent === undefined) {
      ofAgent = new Arrivals();
      this.#byAgent.set(agent, ofAgent);
    }
    ofAgent.add(beyondMs);
  }

  judge(isExcused: boolean): void {
    const agents = [...this.#byAgent.values()].map((each) => each.last(SHORT_STEPS));
    this.#pressure = isExcused ? null : agentsPressure(agents);
    this.#lateSteps = this.#pressure === null || this.#pressure === 'free' ? 0 : this.#lateSteps + 1;
  }

  /** The present step is over. */
  step(): void {
    this.#all.step();
    for (const [agent, arrivals] of this.#byAgent) {
      arrivals.step();
      if (arrivals.isEmpty) this.#byAgent.delete(agent);
    }
  }

  /** A span is over. */
  forgetLeast(): void {
    this.#leastBeforeMs = this.#leastMs;
    this.#leastMs = LONGEST_JOURNEY_MS;
  }
}
