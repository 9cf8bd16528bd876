import { expect, test } from 'vitest';
import { type LiveWindow, Windows } from './windows.ts';

const once = (id: number, monitorIds: readonly number[], startsAt: number, endsAt: number): LiveWindow => ({
  id,
  monitorIds,
  times: { startsAt, endsAt, timeZone: 'UTC', repeat: null, endedAt: null },
});

test('windows that are taken at once hold as those that are taken one by one, and can be changed as they can', () => {
  const windows = [once(1, [7, 8], 0, 10), once(2, [8], 5, 20), once(3, [9], 0, 10)];
  const atOnce = Windows.of(windows);
  const oneByOne = windows.reduce((all, window) => all.with(window.id, window), Windows.NONE);
  for (const both of [
    [atOnce, oneByOne],
    [atOnce.with(2, null), oneByOne.with(2, null)],
    [atOnce.with(1, once(1, [9], 10, 30)), oneByOne.with(1, once(1, [9], 10, 30))],
  ]) {
    const covered = both.map((all) =>
      [7, 8, 9].map((id) => [0, 5, 9, 10, 15, 20, 29, 30].filter((at) => all.cover(id, at))),
    );
    expect(covered[0]).toEqual(covered[1]);
    expect([...(both[0]?.values() ?? [])]).toEqual([...(both[1]?.values() ?? [])]);
  }
  expect(atOnce.cover(8, 15)).toBe(true);
  expect(atOnce.cover(7, 15)).toBe(false);
});
