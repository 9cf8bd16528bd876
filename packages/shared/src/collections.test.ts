import { expect, test } from 'vitest';
import { appendTo, mapInTurns } from './collections.ts';

test('each key has its values in the order in which they came', () => {
  const lists = new Map<number, string[]>();
  appendTo(lists, 1, 'a');
  appendTo(lists, 2, 'b');
  appendTo(lists, 1, 'c');
  expect([...lists]).toEqual([
    [1, ['a', 'c']],
    [2, ['b']],
  ]);
});

test('other tasks get turns during long work, and the order of its results stays', async () => {
  let turns = 0;
  const other = setInterval(() => {
    turns += 1;
  }, 0);
  const mapped = await mapInTurns([1, 2, 3, 4, 5, 6], (item) => {
    const until = performance.now() + 6;
    while (performance.now() < until);
    return item * 2;
  });
  clearInterval(other);
  expect(mapped).toEqual([2, 4, 6, 8, 10, 12]);
  expect(turns).toBeGreaterThanOrEqual(3);
  expect(await mapInTurns([], String)).toEqual([]);
});
