import { expect, test } from 'vitest';
import type { DeclaredChange } from '../verdict/declared-effects.ts';
import { weightOf } from './events.ts';

function weightOfWindow(monitors: number): number {
  const window = {
    id: 1,
    monitorIds: Array.from({ length: monitors }, (_, index) => index + 1),
    times: { startsAt: 0, endsAt: 1, timeZone: 'UTC', repeat: null, endedAt: null },
  };
  const changes: readonly DeclaredChange[] = [{ kind: 'maintenance', windowId: 1, window }];
  return weightOf({ kind: 'declared', changes, until: 1, onApplied: () => {}, onFailed: () => {} });
}

test('a window weighs as much as the announcements of its monitors', () => {
  expect(weightOfWindow(0)).toBe(1);
  expect(weightOfWindow(2_000)).toBe(8_001);
});

test('a change that concerns one object weighs as a result', () => {
  const changes: readonly DeclaredChange[] = [{ kind: 'channel-removed', notificationId: 1 }];
  const event = { kind: 'declared', until: 1, onApplied: () => {}, onFailed: () => {} } as const;
  expect([weightOf({ ...event, changes }), weightOf({ ...event, changes: [] })]).toEqual([1, 1]);
});
