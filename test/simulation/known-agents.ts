import { KnownAgent } from '@svc/coordinator/dispatch/agents.ts';
import type { LiveRegions } from '@svc/coordinator/dispatch/scheduler-parts.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';

/** The agents that one life of the coordinator knows, one for each region at most. */
export class KnownAgents implements LiveRegions, Iterable<KnownAgent> {
  readonly #agents = new Map<Region, KnownAgent>();
  readonly #isAhead: boolean;
  #liveSerial = 0;

  /** @param isAhead they take jobs ahead of their slots */
  constructor(isAhead: boolean) {
    this.#isAhead = isAhead;
  }

  came(region: Region): void {
    this.#agents.set(region, new KnownAgent(`agent-${region}`, region));
    this.#liveSerial += 1;
  }

  /** Returns the agent that is gone. */
  went(region: Region): KnownAgent | undefined {
    const agent = this.#agents.get(region);
    this.#agents.delete(region);
    return agent;
  }

  of(region: Region): KnownAgent | undefined {
    return this.#agents.get(region);
  }

  [Symbol.iterator](): Iterator<KnownAgent> {
    return this.#agents.values();
  }

  live(): readonly Region[] {
    return REGIONS.filter((region) => this.#agents.has(region));
  }

  isLive(region: Region): boolean {
    return this.#agents.has(region);
  }

  isSettled(): boolean {
    return true;
  }

  takeJobsAhead(): boolean {
    return this.#isAhead;
  }

  get liveSerial(): number {
    return this.#liveSerial;
  }
}
