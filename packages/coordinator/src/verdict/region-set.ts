import { REGIONS, type Region } from '@svc/shared/regions.ts';

/**
 * A set of regions as one integer: bit i stands for `REGIONS[i]`. There are 28 regions, so the integer stays
 * small enough for V8 to store it without an object. The evaluation holds several sets for each open slot of
 * 100,000 monitors.
 */
export type RegionSet = number;

export const NO_REGIONS: RegionSet = 0;

const BITS: ReadonlyMap<Region, number> = new Map(REGIONS.map((region, index) => [region, 1 << index]));

export function bitOf(region: Region): RegionSet {
  return BITS.get(region) ?? NO_REGIONS;
}

const INDEX: ReadonlyMap<Region, number> = new Map(REGIONS.map((region, index) => [region, index]));

/** Index of the region in the fixed order, 0 to 27. */
export function regionIndex(region: Region): number {
  return INDEX.get(region) ?? -1;
}

export function regionSet(regions: readonly Region[]): RegionSet {
  let set = NO_REGIONS;
  // Loops by index, because an iterator would be created several times for each report.
  for (let index = 0; index < regions.length; index += 1) set |= bitOf(regions[index] as Region);
  return set;
}

export const ALL_REGIONS: RegionSet = regionSet(REGIONS);

export function hasRegion(set: RegionSet, region: Region): boolean {
  return (set & bitOf(region)) !== 0;
}

/** Number of regions in the set. */
export function sizeOf(set: RegionSet): number {
  let size = 0;
  for (let rest = set; rest !== 0; rest &= rest - 1) size += 1;
  return size;
}

export function regionsOf(set: RegionSet): Region[] {
  return REGIONS.filter((region) => hasRegion(set, region));
}
