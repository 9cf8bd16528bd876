import { REGIONS, type Region } from '@svc/shared/regions.ts';

/**
 * A set of regions as an integer: bit i stands for the region with the index i. While it has only regions with
 * an index below {@link SMALL}, it is a number that V8 stores without an object: the evaluation holds several
 * sets for each open slot of 100,000 monitors. Otherwise it is a BigInt. Each set has one form only, so sets
 * are compared with `===`.
 */
export type RegionSet = number | bigint;

/** Number of bits of the sets that are numbers. */
const SMALL = 31;

export const NO_REGIONS: RegionSet = 0;
/** The set of all regions that there can be: all bits are set, without end. It has no size and no list. */
export const ALL_REGIONS: RegionSet = -1;

/** The regions that have an index, in its order. The 28 regions come first. */
const INDEXED: Region[] = [...REGIONS];
const INDEX = new Map<Region, number>(INDEXED.map((region, index) => [region, index]));
const BITS = new Map<Region, RegionSet>(INDEXED.map((region, index) => [region, setOf(index)]));

function setOf(index: number): RegionSet {
  return index < SMALL ? 1 << index : 1n << BigInt(index);
}

/**
 * Index of the region in this thread. The 28 regions have 0 to 27, in their order. A region of one's own gets the
 * next index when the thread meets it for the first time, so its index has no meaning in another thread.
 */
export function regionIndex(region: Region): number {
  const known = INDEX.get(region);
  if (known !== undefined) return known;
  const index = INDEXED.push(region) - 1;
  INDEX.set(region, index);
  return index;
}

/**
 * Larger than every index of a region: an installation has at most 128 regions at a time, and regions that were taken
 * away are few.
 */
export const REGION_INDEXES = 1_024;

/** The set of this region alone. */
export function bitOf(region: Region): RegionSet {
  const known = BITS.get(region);
  if (known !== undefined) return known;
  const set = setOf(regionIndex(region));
  BITS.set(region, set);
  return set;
}

export function regionSet(regions: readonly Region[]): RegionSet {
  let set = NO_REGIONS;
  // Loops by index, because an iterator would be created several times for each report.
  for (let index = 0; index < regions.length; index += 1) set = union(set, bitOf(regions[index] as Region));
  return set;
}

export function union(one: RegionSet, other: RegionSet): RegionSet {
  if (typeof one === 'number' && typeof other === 'number') return one | other;
  return inOneForm(BigInt(one) | BigInt(other));
}

export function intersection(one: RegionSet, other: RegionSet): RegionSet {
  if (typeof one === 'number' && typeof other === 'number') return one & other;
  return inOneForm(BigInt(one) & BigInt(other));
}

/** The regions of the first set that the second one does not have. */
export function difference(one: RegionSet, without: RegionSet): RegionSet {
  if (typeof one === 'number' && typeof without === 'number') return one & ~without;
  return inOneForm(BigInt(one) & ~BigInt(without));
}

function inOneForm(set: bigint): RegionSet {
  return BigInt.asIntN(SMALL + 1, set) === set ? Number(set) : set;
}

export function hasRegion(set: RegionSet, region: Region): boolean {
  return intersection(set, bitOf(region)) !== NO_REGIONS;
}

/** Number of regions in the set, which is not {@link ALL_REGIONS}. */
export function sizeOf(set: RegionSet): number {
  if (typeof set === 'bigint') return regionsOf(set).length;
  let size = 0;
  for (let rest = set; rest !== 0; rest &= rest - 1) size += 1;
  return size;
}

export function regionsOf(set: RegionSet): Region[] {
  return INDEXED.filter((region) => hasRegion(set, region));
}
