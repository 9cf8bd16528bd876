import type { Placed } from '@svc/shared/bag.ts';
import { expect, test } from 'vitest';
import { expectHolds } from '../../../../test/support/placed-items.ts';
import { Lineup } from './lineup.ts';

test('a lineup holds what was added and not deleted, in that order', () => {
  const create = () => new Lineup<Placed>();
  expectHolds(create, { items: 100, steps: 400 }, (lineup, expected) => {
    const all = lineup.all();
    expect([...expected].every((item, index) => all[index] === item)).toBe(true);
    expect(all).toHaveLength(expected.size);
  });
});

test('what is asked for stays as it is while items are deleted', () => {
  const lineup = new Lineup<Placed>();
  const items = [{ place: -1 }, { place: -1 }, { place: -1 }] as const;
  for (const item of items) lineup.add(item);
  const all = lineup.all();
  for (const item of items) lineup.delete(item);
  expect(all).toEqual(items);
  expect(lineup.size).toBe(0);
});
