import { expect, test } from 'vitest';
import { type LiveWindow, Windows } from '../verdict/maintenance-window.ts';
import { weightOfChanges } from './events.ts';

const window = (from: number, until: number): LiveWindow => ({
  id: 1,
  monitorIds: Array.from({ length: until - from }, (_, index) => from + index),
  times: { startsAt: 0, endsAt: 1, timeZone: 'UTC', repeat: null, endedAt: null },
});

test.each<[string, LiveWindow | null, LiveWindow | null, number]>([
  ['a new window without monitors', null, window(0, 0), 1],
  ['a new window', null, window(0, 2_000), 8_001],
  ['a removed window', window(0, 2_000), null, 8_001],
  ['a window that gets other monitors', window(0, 20), window(10, 40), 161],
  ['a window that was removed before', null, null, 1],
])('%s weighs as much as the announcements of its monitors', (_what, before, after, weight) => {
  const windows = Windows.of(before === null ? [] : [before]);
  expect(weightOfChanges([{ kind: 'maintenance', windowId: 1, window: after }], windows)).toBe(weight);
});

test('a change that concerns one object weighs as a result', () => {
  const windows = new Windows();
  expect(weightOfChanges([{ kind: 'channel-removed', notificationId: 1 }], windows)).toBe(1);
  expect(weightOfChanges([], windows)).toBe(1);
});
