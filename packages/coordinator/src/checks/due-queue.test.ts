import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Due, DueQueue } from './due-queue.ts';

type Item = Due & { id: number };

const item = (id: number): Item => ({ id, dueAt: 0, queueIndex: -1 });

function drained(queue: DueQueue<Item>): number[] {
  const instants: number[] = [];
  for (let first = queue.peek(); first !== undefined; first = queue.peek()) {
    instants.push(first.dueAt);
    queue.delete(first);
  }
  return instants;
}

test('after any mixture of adding, moving and removing, the remaining entries come in order', () => {
  const step = fc.record({
    id: fc.nat({ max: 30 }),
    dueAt: fc.nat({ max: 50 }),
    isDelete: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new DueQueue<Item>();
      const items = Array.from({ length: 31 }, (_, id) => item(id));
      const expected = new Map<number, number>();
      for (const { id, dueAt, isDelete } of steps) {
        const each = items[id] as Item;
        if (isDelete) {
          queue.delete(each);
          expected.delete(id);
        } else {
          queue.set(each, dueAt);
          expected.set(id, dueAt);
        }
        expect(queue.size).toBe(expected.size);
      }
      expect(drained(queue)).toEqual([...expected.values()].sort((a, b) => a - b));
      expect(items.every(({ queueIndex }) => queueIndex === -1)).toBe(true);
    }),
  );
});

test('after all are moved at once, they come in order and can be moved one by one', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat({ max: 50 }), fc.nat({ max: 50 }))), fc.nat(), (instants, which) => {
      const queue = new DueQueue<Item>();
      const items = instants.map((_, id) => item(id));
      for (const each of items) queue.set(each, instants[each.id]?.[0] ?? 0);
      queue.setAll(({ id }) => instants[id]?.[1] ?? 0);
      const expected = instants.map(([, dueAt]) => dueAt);
      const moved = items[which % Math.max(1, items.length)];
      if (moved !== undefined) {
        queue.set(moved, 25);
        expected[moved.id] = 25;
      }
      expect(drained(queue)).toEqual(expected.sort((a, b) => a - b));
    }),
  );
});
