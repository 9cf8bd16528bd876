import type { Placed } from '@svc/shared/bag.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Lineup } from './lineup.ts';

test('a lineup holds what was added and not deleted, in that order', () => {
  const steps = fc.array(fc.record({ item: fc.nat(99), isAdded: fc.boolean() }), { maxLength: 400 });
  fc.assert(
    fc.property(steps, (changes) => {
      const items: Placed[] = Array.from({ length: 100 }, () => ({ place: -1 }));
      const lineup = new Lineup<Placed>();
      const expected = new Set<Placed>();
      for (const { item, isAdded } of changes) {
        const changed = items[item] as Placed;
        if (!isAdded) lineup.delete(changed);
        else if (!expected.has(changed)) lineup.add(changed);
        if (isAdded) expected.add(changed);
        else expected.delete(changed);
        expect(lineup.size).toBe(expected.size);
      }
      expect(lineup.all()).toEqual([...expected]);
      for (const item of items) expect(item.place === -1).toBe(!expected.has(item));
    }),
  );
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
