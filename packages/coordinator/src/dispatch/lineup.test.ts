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
      expect([...lineup]).toEqual([...expected]);
      for (const item of items) expect(item.place === -1).toBe(!expected.has(item));
    }),
  );
});

test('items may be deleted while they are looked at, and those to come are then left out', () => {
  const lineup = new Lineup<Placed>();
  const items = [{ place: -1 }, { place: -1 }, { place: -1 }] as const;
  for (const item of items) lineup.add(item);
  const seen: Placed[] = [];
  for (const item of lineup) {
    seen.push(item);
    lineup.delete(item);
    lineup.delete(items[1]);
  }
  expect(seen).toEqual([items[0], items[2]]);
  expect(lineup.size).toBe(0);
});
