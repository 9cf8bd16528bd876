import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { bitOf } from '../domain/region-set.ts';

/** Factor of the monitor's id in a key: more than the 28 regions. */
const REGION_PLACES = 32;

/**
 * Outcomes by monitor, slot and region. The slot is the first key: few slots come together, and the rest of
 * the key is then a number. A text of all three would be made and hashed for every result.
 */
export class KeptOutcomes {
  readonly #bySlot = new Map<number, Map<number, Outcome>>();

  of(monitorId: number, slot: number, region: Region): Outcome | undefined {
    return this.#bySlot.get(slot)?.get(keyOf(monitorId, region));
  }

  set(monitorId: number, slot: number, region: Region, outcome: Outcome): void {
    let kept = this.#bySlot.get(slot);
    if (kept === undefined) {
      kept = new Map();
      this.#bySlot.set(slot, kept);
    }
    kept.set(keyOf(monitorId, region), outcome);
  }
}

function keyOf(monitorId: number, region: Region): number {
  return monitorId * REGION_PLACES + Math.clz32(bitOf(region));
}
