import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Bag, type Placed } from './bag.ts';

test('a bag holds what was added and not taken out again', () => {
  const steps = fc.array(fc.record({ item: fc.nat(9), isAdded: fc.boolean() }));
  fc.assert(
    fc.property(steps, (changes) => {
      const items: Placed[] = Array.from({ length: 10 }, () => ({ place: -1 }));
      const bag = new Bag<Placed>();
      const expected = new Set<Placed>();
      for (const { item, isAdded } of changes) {
        const changed = items[item] as Placed;
        if (!isAdded) bag.delete(changed);
        else if (!expected.has(changed)) bag.add(changed);
        if (isAdded) expected.add(changed);
        else expected.delete(changed);
        expect(bag.size).toBe(expected.size);
        expect(new Set(bag.all())).toEqual(expected);
      }
      for (const item of items) expect(item.place === -1).toBe(!expected.has(item));
    }),
  );
});

test('what is taken out while all are looked at stays in the list', () => {
  const bag = new Bag<Placed>();
  const items = [{ place: -1 }, { place: -1 }, { place: -1 }];
  for (const item of items) bag.add(item);
  const seen: Placed[] = [];
  for (const item of bag.all()) {
    seen.push(item);
    bag.delete(item);
  }
  expect(seen).toEqual(items);
  expect(bag.size).toBe(0);
});
