import { expect, test } from 'vitest';
import { Places, SENDS_IN_ALL, SENDS_PER_WORKSPACE } from './places.ts';

const takenBy = (places: Places, workspaceId: number | null, tries: number) =>
  Array.from({ length: tries }, () => places.take(workspaceId)).filter(Boolean).length;

test('one workspace gets its share, others theirs, and all together no more than there are', () => {
  const places = new Places();
  expect(takenBy(places, 1, 1_000)).toBe(SENDS_PER_WORKSPACE);
  expect(takenBy(places, null, 1_000)).toBe(SENDS_PER_WORKSPACE);
  expect([2, 3, 4].map((workspace) => takenBy(places, workspace, 100))).toEqual([100, 100, 56]);
  expect(places.isFull).toBe(true);
  places.give(1);
  expect([places.take(1), places.take(1), places.isFull]).toEqual([true, false, true]);
});

test('what was given back can be taken again', () => {
  const places = new Places();
  for (let round = 0; round < 3 * SENDS_IN_ALL; round += 1) {
    expect(places.take(round)).toBe(true);
    places.give(round);
  }
});
