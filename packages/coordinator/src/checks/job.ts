import { REGIONS, type Region } from '@svc/shared/regions.ts';

/** Factor by which a key multiplies the monitor's id. It is larger than the number of regions. */
const KEYS_PER_MONITOR = 32;

const INDEX: ReadonlyMap<Region, number> = new Map(REGIONS.map((region, index) => [region, index]));

/** Index of the region in the fixed order, 0 to 27. */
export function regionIndex(region: Region): number {
  return INDEX.get(region) ?? -1;
}

/** A number that identifies the pair of the monitor and the region. */
export function jobKey(monitorId: number, region: Region): number {
  return monitorId * KEYS_PER_MONITOR + regionIndex(region);
}
