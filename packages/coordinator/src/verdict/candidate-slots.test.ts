import fc from 'fast-check';
import { expect, test } from 'vitest';
import { candidateSlots, sampledSlots } from './candidate-slots.ts';
import { isOnGrid, phaseOf } from './schedule.ts';

const PERIOD = 30_000;
/** The slot on the grid of monitor 1 that lies n periods after its first slot. */
const grid = (n: number) => phaseOf(1, PERIOD) + n * PERIOD;
const between = (from: number, until: number, offGrid: number[] = []) => [
  ...candidateSlots(1, PERIOD, { from, until }, offGrid),
];

test.each([
  {
    name: 'both ends belong to the range',
    from: grid(1),
    until: grid(3),
    slots: [grid(3), grid(2), grid(1)],
  },
  { name: 'slots outside the range are left out', from: grid(1) + 1, until: grid(3) - 1, slots: [grid(2)] },
  { name: 'an empty range', from: grid(2), until: grid(1), slots: [] },
  {
    name: 'slots off the grid come in their place',
    from: grid(1),
    until: grid(2),
    offGrid: [grid(2) + 1, grid(2) - 1, grid(1) + 1, grid(1) - 1],
    slots: [grid(2), grid(2) - 1, grid(1) + 1, grid(1)],
  },
  {
    name: 'a slot of the list that lies on the grid comes once',
    from: grid(1),
    until: grid(2),
    offGrid: [grid(2), grid(1)],
    slots: [grid(2), grid(1)],
  },
])('$name', ({ from, until, offGrid, slots }) => {
  expect(between(from, until, offGrid)).toEqual(slots);
});

test('exactly the slots of grid and list inside the range, newest first, none twice', () => {
  const instant = fc.integer({ min: 0, max: 8 * PERIOD });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      instant,
      instant,
      fc.uniqueArray(instant, { maxLength: 20 }),
      (id, from, until, remembered) => {
        const offGrid = remembered.toSorted((a, b) => b - a);
        const expected: number[] = [];
        for (let slot = until; slot >= from; slot -= 1) {
          if (isOnGrid(id, slot, PERIOD) || remembered.includes(slot)) expected.push(slot);
        }
        const found = [...candidateSlots(id, PERIOD, { from, until }, offGrid)];
        expect(found).toEqual(expected);
      },
    ),
    { numRuns: 20 },
  );
});

test('a sample has one slot of each full group, in their order', () => {
  fc.assert(
    fc.property(fc.nat(500), fc.integer({ min: 1, max: 40 }), (count, every) => {
      const slots = Array.from({ length: count }, (_, index) => -index);
      const sample = [...sampledSlots(slots, every)];
      const groups = sample.map((slot) => Math.floor(-slot / every));
      const full = Math.floor(count / every);
      expect(groups.slice(0, full)).toEqual(Array.from({ length: full }, (_, group) => group));
      expect(sample.length).toBeLessThanOrEqual(Math.ceil(count / every));
      if (every === 1) expect(sample).toEqual(slots);
    }),
  );
});

test('a sample sees slots of a coarser grid', () => {
  const slots = Array.from({ length: 1_000 }, (_, index) => index);
  const ofGrid = [...sampledSlots(slots, 10)].filter((slot) => slot % 10 === 3);
  expect(ofGrid).toHaveLength(10);
});
