import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Heap } from './heap.ts';

function heapOf(numbers: readonly number[]): Heap<number> {
  const heap = new Heap<number>((number) => number);
  for (const number of numbers) heap.push(number);
  return heap;
}

function drained(heap: Heap<number>): number[] {
  const order: number[] = [];
  for (let item = heap.pop(); item !== undefined; item = heap.pop()) order.push(item);
  return order;
}

const ascending = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b);

test('items come out in order of their rank', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = heapOf(numbers);
      expect(heap.size).toBe(numbers.length);
      expect(heap.peek()).toBe(ascending(numbers)[0]);
      expect(drained(heap)).toEqual(ascending(numbers));
      expect(heap.size).toBe(0);
    }),
  );
});

test('taking some out leaves the others in order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 5 }), (numbers, divisor) => {
      const isTaken = (number: number): boolean => number % divisor === 0;
      const heap = heapOf(numbers);
      expect(ascending(heap.takeWhere(isTaken))).toEqual(ascending(numbers.filter(isTaken)));
      expect(drained(heap)).toEqual(ascending(numbers.filter((number) => !isTaken(number))));
    }),
  );
});
