import { expect, test } from 'vitest';
import { Places, SENDS_IN_ALL, SLOW_IN_ALL } from './places.ts';

const takenBy = (places: Places, workspaceId: number, isSlow = false, tries = 2_000) =>
  Array.from({ length: tries }, () => places.take(workspaceId, isSlow)).filter((place) => place !== null);

test.each([
  [false, SENDS_IN_ALL],
  [true, SLOW_IN_ALL],
])('however many workspaces take what they get, another one finds a place; slow: %s', (isSlow, inAll) => {
  const places = new Places();
  const counts = [1, 2, 3, 4, 5].map((workspace) => takenBy(places, workspace, isSlow).length);
  expect(counts).toEqual([inAll / 2, inAll / 4, inAll / 8, inAll / 16, inAll / 32]);
  expect(places.hasFor(6, isSlow)).toBe(true);
  expect(places.hasFor(1, isSlow)).toBe(false);
});

test('what a workspace gives back is shared anew', () => {
  const places = new Places();
  const first = takenBy(places, 1);
  for (const place of first.slice(0, 56)) place.give();
  expect(takenBy(places, 2)).toHaveLength((SENDS_IN_ALL - first.length + 56) / 2);
});

test('a place is given back once', () => {
  const places = new Places();
  for (let round = 0; round < 3 * SENDS_IN_ALL; round += 1) {
    const place = places.take(round, false);
    place?.give();
    place?.give();
  }
  expect(takenBy(places, 1)).toHaveLength(SENDS_IN_ALL / 2);
});

test('a slow send makes room for others, as long as there is room for slow ones', () => {
  const places = new Places();
  let slow = 0;
  for (let round = 0; round < 10; round += 1) {
    for (const place of takenBy(places, 1)) if (place.slow()) slow += 1;
  }
  expect(slow).toBe(SLOW_IN_ALL / 2);
  expect(takenBy(places, 1)).toEqual([]);
  expect(takenBy(places, 2).length).toBeGreaterThan(100);
});
