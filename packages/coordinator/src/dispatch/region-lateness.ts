import { LeastLately } from '@svc/shared/least-lately.ts';
import { agentsPressure, type DelayPressure, type Delays, isLate } from '../domain/pressure.ts';
import { Arrivals } from './arrivals.ts';

/** Steps of the usual judgement: one second. */
const SHORT_STEPS = 2;
/** Steps of the judgement when the usual ones have too few results. */
const LONG_STEPS = 4;
/** Longest delay that is laid on the way, ms, unless answers to offers take longer. */
const LONGEST_JOURNEY_MS = 1_000;

/** The lateness of one region, from the times at which its results come. */
export class RegionLateness {
  readonly #all = new Arrivals();
  /** By the agent that ran the check; null: it is not known. */
  readonly #byAgent = new Map<object | null, Arrivals>();
  readonly #leastMs = new LeastLately();
  #pressure: DelayPressure | null = null;
  #lateSteps = 0;

  /** The pressure of this step; null: there are too few results, or they are excused. */
  get pressure(): DelayPressure | null {
    return this.#pressure;
  }

  /** Number of steps for which the region has been late. */
  get lateSteps(): number {
    return this.#lateSteps;
  }

  /** The delays of more steps, for regions with few results. */
  get recent(): Delays {
    return this.#all.last(LONG_STEPS);
  }

  /** @param tripMs how long answers to offers take at the least, ms */
  arrived(agent: object | null, delayMs: number, tripMs: number): void {
    // Not below 0: only an agent that reports a false duration of its check could cause that.
    this.#leastMs.add(Math.max(0, delayMs));
    const journeyMs = Math.min(this.#leastMs.value, Math.max(LONGEST_JOURNEY_MS, tripMs));
    this.#all.add(delayMs - journeyMs);
    this.#of(agent).add(delayMs - journeyMs);
  }

  /** The agent has dropped a check that could not begin in time, wherever it is. */
  dropped(agent: object | null): void {
    this.#all.drop();
    this.#of(agent).drop();
  }

  #of(agent: object | null): Arrivals {
    let arrivals = this.#byAgent.get(agent);
    if (arrivals === undefined) {
      arrivals = new Arrivals();
      this.#byAgent.set(agent, arrivals);
    }
    return arrivals;
  }

  judge(isExcused: boolean): void {
    const agents = [...this.#byAgent.values()].map((each) => each.last(SHORT_STEPS));
    this.#pressure = isExcused ? null : agentsPressure(agents);
    this.#lateSteps = isLate(this.#pressure) ? this.#lateSteps + 1 : 0;
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
    this.#leastMs.nextSpan();
  }
}
