import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { bitOf } from './region-set.ts';

/** Factor of the monitor's id in a key: more than the 28 regions. */
const REGION_PLACES = 32;

/** An outcome, and the one of another slot that was kept before it. */
type Kept = { readonly slot: number; outcome: Outcome; readonly before: Kept | undefined };

/**
 * Outcomes by monitor, slot and region. Monitor and region are the key, because a region mostly reports one
 * slot of a monitor at a time. A text of all three would be made and hashed for every result.
 */
export class KeptOutcomes {
  readonly #kept = new Map<number, Kept>();

  of(monitorId: number, slot: number, region: Region): Outcome | undefined {
    return find(this.#kept.get(keyOf(monitorId, region)), slot)?.outcome;
  }

  set(monitorId: number, slot: number, region: Region, outcome: Outcome): void {
    const key = keyOf(monitorId, region);
    const before = this.#kept.get(key);
    const known = find(before, slot);
    if (known === undefined) this.#kept.set(key, { slot, outcome, before });
    else known.outcome = outcome;
  }
}

function find(newest: Kept | undefined, slot: number): Kept | undefined {
  let kept = newest;
  while (kept !== undefined && kept.slot !== slot) kept = kept.before;
  return kept;
}

function keyOf(monitorId: number, region: Region): number {
  return monitorId * REGION_PLACES + Math.clz32(bitOf(region));
}
