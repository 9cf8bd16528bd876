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

test('after any mixture of putting in, moving and taking out, what is left comes in order', () => {
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
