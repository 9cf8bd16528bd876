import { REGIONS, type Region } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ALL_REGIONS,
  bitOf,
  difference,
  hasRegion,
  intersection,
  NO_REGIONS,
  REGION_INDEXES,
  regionIndex,
  regionSet,
  regionsOf,
  sizeOf,
  union,
} from './region-set.ts';

const OWN: readonly Region[] = Array.from({ length: 100 }, (_, number) => `own-${number}`);
const some = fc.subarray([...REGIONS.slice(20), ...OWN.slice(0, 12), ...OWN.slice(90)]);

test('the 28 regions have the first indexes, in their order, and own regions the next ones', () => {
  expect(REGIONS.map(regionIndex)).toEqual(REGIONS.map((_, index) => index));
  const indexes = OWN.map(regionIndex);
  expect(indexes).toEqual(OWN.map((_, index) => REGIONS.length + index));
  expect(OWN.map(regionIndex)).toEqual(indexes);
  expect(Math.max(...indexes)).toBeLessThan(REGION_INDEXES);
});

test('a set of regions with indexes below 31 is a small integer', () => {
  expect(regionSet(REGIONS)).toBe(2 ** REGIONS.length - 1);
  expect(regionSet([...REGIONS, ...OWN.slice(0, 3)])).toBe(2 ** 31 - 1);
  expect(typeof regionSet(OWN)).toBe('bigint');
});

describe('sets are like those of the language:', () => {
  const listed = (set: Parameters<typeof regionsOf>[0]) => new Set(regionsOf(set));
  test.each([
    ['union', union, (one: Set<Region>, other: Set<Region>) => [...one, ...other]],
    [
      'intersection',
      intersection,
      (one: Set<Region>, other: Set<Region>) => [...one].filter((each) => other.has(each)),
    ],
    [
      'difference',
      difference,
      (one: Set<Region>, other: Set<Region>) => [...one].filter((each) => !other.has(each)),
    ],
  ] as const)('%s', (_, of, expected) => {
    fc.assert(
      fc.property(some, some, (one, other) => {
        const made = of(regionSet(one), regionSet(other));
        const wanted = new Set(expected(new Set(one), new Set(other)));
        expect(listed(made)).toEqual(wanted);
        expect(sizeOf(made)).toBe(wanted.size);
        // A set has one form, so it may be compared with ===.
        expect(made === regionSet([...wanted])).toBe(true);
      }),
    );
  });

  test('membership', () => {
    fc.assert(
      fc.property(some, fc.constantFrom(...REGIONS, ...OWN), (regions, region) => {
        expect(hasRegion(regionSet(regions), region)).toBe(regions.includes(region));
      }),
    );
  });
});

test('the set of all regions has every region, also one that comes later', () => {
  fc.assert(
    fc.property(some, (regions) => {
      const set = regionSet(regions);
      expect(union(ALL_REGIONS, set)).toBe(ALL_REGIONS);
      expect(intersection(ALL_REGIONS, set)).toBe(set);
      expect(difference(set, ALL_REGIONS)).toBe(NO_REGIONS);
      expect(intersection(difference(ALL_REGIONS, set), set)).toBe(NO_REGIONS);
    }),
  );
  expect(hasRegion(ALL_REGIONS, 'a-later-one')).toBe(true);
  expect(bitOf('a-later-one')).not.toBe(NO_REGIONS);
});
