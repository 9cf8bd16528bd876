import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareRegions, isOwnRegionId, isRegionId, REGIONS, regionsWith, regionTexts } from '../regions.ts';
import { OWN_REGIONS_SETTING } from './own-regions.ts';

const parse = (text: string) => OWN_REGIONS_SETTING.extraRegions.schema.safeParse(text);
const many = (count: number) => Array.from({ length: count }, (_, index) => `own-${index}`).join(',');

test('ids and names', () => {
  expect(parse('office-berlin:Berlin office, dc-2,a-b: At 10:30,')).toMatchObject({
    data: [
      { id: 'office-berlin', name: 'Berlin office' },
      { id: 'dc-2', name: null },
      { id: 'a-b', name: 'At 10:30' },
    ],
  });
  expect(parse('')).toMatchObject({ data: [] });
  expect(parse(many(100)).success).toBe(true);
});

test.each([
  ['two characters', 'ab', '"ab" cannot be the id of a region'],
  ['33 characters', 'a'.repeat(33), 'cannot be the id of a region'],
  ['a capital letter', 'Office', 'cannot be the id of a region'],
  ['a dot, which would be a part of a subject', 'dc.2', 'cannot be the id of a region'],
  ['a prefix of the 28', 'hosta-office', 'cannot be the id of a region'],
  ['one of the 28', 'hostb-par', 'cannot be the id of a region'],
  ['another part with a key', 'coordinator', 'cannot be the id of a region'],
  ['an id twice', 'dc-2,office,dc-2:Again', 'names dc-2 twice'],
  ['a colon without a name', 'dc-2:', 'the name of dc-2 must have 1 to 64 characters'],
  ['a long name', `dc-2:${'x'.repeat(65)}`, 'the name of dc-2 must have 1 to 64 characters'],
  ['101 regions', many(101), 'names 101 regions, but at most 100 are allowed'],
])('%s is refused', (_, text, message) => {
  expect(parse(text).error?.issues[0]?.message).toContain(message);
});

describe('regions', () => {
  test('are shown with the 28 first, and own ones by their ids', () => {
    const own = ['dc-2', 'a-office'].map((id) => ({ id, name: null }));
    expect(regionsWith(own)).toEqual([...REGIONS, 'a-office', 'dc-2']);
    expect(regionsWith(own.toReversed())).toEqual(regionsWith(own));
  });

  test('are shown to people with their name, if they have one', () => {
    const regionText = regionTexts([
      { id: 'office-berlin', name: 'Berlin office' },
      { id: 'dc-2', name: null },
    ]);
    expect(['office-berlin', 'dc-2', 'hosta-fra', 'taken-away'].map(regionText)).toEqual([
      'Berlin office (office-berlin)',
      'dc-2',
      'hosta-fra',
      'taken-away',
    ]);
  });

  test('have one order', () => {
    const some = fc.constantFrom(...REGIONS, 'aaa', 'hosta', 'zzz');
    fc.assert(
      fc.property(some, some, (one, other) => {
        expect(Math.sign(compareRegions(one, other))).toBe(-Math.sign(compareRegions(other, one)) + 0);
        expect(compareRegions(one, other) === 0).toBe(one === other);
      }),
    );
  });

  test('of the 28 are no own ones', () => {
    for (const region of REGIONS) expect([isOwnRegionId(region), isRegionId(region)]).toEqual([false, true]);
  });
});
