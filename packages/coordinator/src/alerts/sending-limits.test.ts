import { expect, test } from 'vitest';
import { IN_PROGRESS_IN_ALL, Places } from './sending-limits.ts';

/** Takes all places that the workspace gets. Returns their number. */
function takeAll(places: Places, workspaceId: number): number {
  let taken = 0;
  for (; places.hasPlaceFor(workspaceId); taken += 1) places.takePlace(workspaceId);
  return taken;
}

test('after five workspaces have taken all the places that they get, a sixth one finds a place', () => {
  const places = new Places();
  const counts = [1, 2, 3, 4, 5].map((workspace) => takeAll(places, workspace));
  expect(counts).toEqual([2, 4, 8, 16, 32].map((part) => IN_PROGRESS_IN_ALL / part));
  expect(places.hasPlaceFor(6)).toBe(true);
  expect(places.hasPlaceFor(1)).toBe(false);
});

test('places that a workspace gives back are shared among all', () => {
  const places = new Places();
  const first = takeAll(places, 1);
  for (let given = 0; given < 56; given += 1) places.givePlaceBack(1);
  expect(takeAll(places, 2)).toBe((IN_PROGRESS_IN_ALL - first + 56) / 2);
});
