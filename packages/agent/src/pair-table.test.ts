import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PAIR_LIMIT, PairTable } from './pair-table.ts';

const first = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: PAIR_LIMIT - 1 }));
const second = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: PAIR_LIMIT - 1 }));
const pairs = fc.array(fc.tuple(first, second));

test('a set has the pairs that were put into it, and no others', () => {
  fc.assert(
    fc.property(pairs, pairs, (added, asked) => {
      const table = new PairTable('set');
      for (const [one, other] of added) table.put(one, other);
      const known = new Set(added.map(String));
      expect(table.size).toBe(known.size);
      for (const [one, other] of [...added, ...asked])
        expect(table.has(one, other)).toBe(known.has(String([one, other])));
    }),
  );
});

test('a map has the last second number of each first one', () => {
  fc.assert(
    fc.property(pairs, pairs, (added, asked) => {
      const table = new PairTable('map');
      for (const [one, other] of added) table.put(one, other);
      const known = new Map(added);
      expect(table.size).toBe(known.size);
      for (const [one] of [...added, ...asked]) expect(table.get(one)).toBe(known.get(one));
    }),
  );
});

test.each(['set', 'map'] as const)('a %s grows with what is put into it', (kind) => {
  const table = new PairTable(kind);
  const numbers = Array.from({ length: 60_000 }, (_, index) => index + 1);
  for (const number of numbers) table.put(number, 7 * number);
  expect(table.size).toBe(60_000);
  expect(numbers.every((number) => table.has(number, 7 * number))).toBe(true);
  expect(numbers.some((number) => table.has(number + 60_000, 7 * number))).toBe(false);
});
