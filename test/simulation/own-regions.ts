import { REGIONS, type Region } from '@svc/shared/regions.ts';

/** A region of one's own for each of the 28, whose place it takes in worlds with own regions. */
const OWN: ReadonlyMap<Region, Region> = new Map(REGIONS.map((region, place) => [region, `own-${place}`]));

/** All regions of worlds. An own region stands beside the region whose place it takes. */
export const WORLD_REGIONS: readonly Region[] = REGIONS.flatMap((region) => [
  region,
  OWN.get(region) ?? region,
]);

/** Every second region is replaced, so that worlds with own regions have regions of both kinds. */
const REPLACED: ReadonlyMap<unknown, Region> = new Map([...OWN].filter((_, place) => place % 2 === 0));
const PLACES: ReadonlyMap<Region, number> = new Map(
  REGIONS.flatMap((region, place) =>
    [region, OWN.get(region) ?? region].map((each) => [each, place] as const),
  ),
);

/** The place of the region, or of the one that it takes the place of, among the 28. */
export function placeOf(region: Region): number {
  return PLACES.get(region) ?? REGIONS.length;
}

/** The part of the worlds that have own regions: one in four. */
export function hasOwnRegions(seed: number): boolean {
  return seed % 4 === 3;
}

/** The same world with own regions. Everything else happens as it does without them. */
export function withOwnRegions<T>(part: T): T {
  const own = REPLACED.get(part);
  if (own !== undefined) return own as T;
  if (Array.isArray(part)) return part.map(withOwnRegions) as T;
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, member]) => [name, withOwnRegions(member)]),
  ) as T;
}
