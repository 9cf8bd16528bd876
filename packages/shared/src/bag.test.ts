import { expect, test } from 'vitest';
import { expectHolds } from '../../../test/support/placed-items.ts';
import { Bag, type Placed } from './bag.ts';

test('a bag holds what was added and not taken out again', () => {
  const create = () => new Bag<Placed>();
  expectHolds(create, { items: 10, steps: 40 }, (bag, expected) => {
    expect(new Set(bag.all())).toEqual(expected);
  });
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
