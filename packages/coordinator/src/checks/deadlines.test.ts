import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { Deadlines, InstantHeap } from './deadlines.ts';

test('arming further ids does not postpone those that are due', () => {
  const clock = new FakeClock();
  const called: [id: number, at: number][] = [];
  const deadlines = new Deadlines(clock, (id) => called.push([id, clock.monotonic()]));
  deadlines.start();
  for (let id = 0; id < 4; id += 1) {
    deadlines.arm(id, clock.monotonic() + 10);
    clock.advance(50);
  }
  expect(called).toEqual([
    [0, 100],
    [1, 100],
    [2, 200],
    [3, 200],
  ]);
});

test('instants come out in order, even while others are added', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: -5, max: 1_000 }) },
    { weight: 2, arbitrary: fc.constant('pop' as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const heap = new InstantHeap();
      const kept: { instant: number; id: number }[] = [];
      for (const [id, what] of steps.entries()) {
        if (what !== 'pop') {
          heap.push(what, id);
          kept.push({ instant: what, id });
        } else {
          const first = heap.first;
          expect(first).toBe(Math.min(Number.POSITIVE_INFINITY, ...kept.map(({ instant }) => instant)));
          const popped = heap.pop();
          const at = kept.findIndex((each) => each.id === popped);
          expect(kept[at]?.instant).toBe(kept.length === 0 ? undefined : first);
          if (at >= 0) kept.splice(at, 1);
        }
        expect(heap.size).toBe(kept.length);
      }
    }),
  );
});

test('the memory of a heap shrinks with its content', () => {
  const heap = new InstantHeap();
  for (let id = 0; id < 10_000; id += 1) heap.push(id % 97, id);
  expect(heap.places).toBe(16_384);
  const order: number[] = [];
  while (heap.size > 0) {
    order.push(heap.first);
    heap.pop();
  }
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(heap.places).toBe(64);
  expect(heap.pop()).toBeUndefined();
});
