import { expect, test } from 'vitest';
import { Places, SENDS_IN_ALL, SENDS_PER_WORKSPACE, SLOW_PER_WORKSPACE } from './places.ts';

const takenBy = (places: Places, workspaceId: number, tries: number) =>
  Array.from({ length: tries }, () => places.take(workspaceId)).filter((place) => place !== null);

test('one workspace gets its share, others theirs, and all together no more than there are', () => {
  const places = new Places();
  const first = takenBy(places, 1, 1_000);
  expect(first).toHaveLength(SENDS_PER_WORKSPACE);
  const others = [2, 3, 4, 5].map((workspace) => takenBy(places, workspace, 100).length);
  expect(others).toEqual([100, 100, 100, 84]);
  expect(places.isFull).toBe(true);
  first[0]?.give();
  expect([places.take(1) !== null, places.take(1), places.isFull]).toEqual([true, null, true]);
});

test('what was given back can be taken again, and is given back once', () => {
  const places = new Places();
  for (let round = 0; round < 3 * SENDS_IN_ALL; round += 1) {
    const place = places.take(round);
    place?.give();
    place?.give();
  }
  expect(takenBy(places, 1, 1_000)).toHaveLength(SENDS_PER_WORKSPACE);
});

test('a slow send makes room for others, as long as there is room for slow ones', () => {
  const places = new Places();
  let slow = 0;
  for (let round = 0; round < 10; round += 1) {
    for (const place of takenBy(places, 1, 1_000)) if (place.slow()) slow += 1;
  }
  expect(slow).toBe(SLOW_PER_WORKSPACE);
  expect(takenBy(places, 1, 1)).toEqual([]);
  expect(takenBy(places, 2, 1_000)).toHaveLength(SENDS_PER_WORKSPACE);
});
