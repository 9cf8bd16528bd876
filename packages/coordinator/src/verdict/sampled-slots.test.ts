import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sampledSlots } from './sampled-slots.ts';

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
