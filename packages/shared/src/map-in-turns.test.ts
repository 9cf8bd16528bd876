import { expect, test } from 'vitest';
import { mapInTurns } from './map-in-turns.ts';

test('others have their turn within long work, whose order stays', async () => {
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
