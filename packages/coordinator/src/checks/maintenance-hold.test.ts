import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { LiveWindow } from '../verdict/maintenance-window.ts';
import { MaintenanceHold } from './maintenance-hold.ts';

test('a change of one mute looks at no other mute, however many there are', () => {
  let looks = 0;
  const mute = (monitorId: number): LiveWindow => ({
    get id() {
      looks += 1;
      return -monitorId;
    },
    monitorIds: [monitorId],
    times: { startsAt: 0, endsAt: Number.MAX_SAFE_INTEGER, timeZone: 'UTC', repeat: null, endedAt: null },
  });
  const clock = new FakeClock();
  const hold = new MaintenanceHold({ clock, slotClock: { now: () => clock.wall(), onJump: () => () => {} } });
  const mutes = Array.from({ length: 1_000 }, (_, index) => mute(index + 1));
  hold.changeWindows(new Map(mutes.map((each) => [each.id, each])), 0);
  looks = 0;
  hold.changeWindows(new Map([[-1, null]]), 0);
  hold.changeWindows(new Map([[-2, mute(2)]]), 0);
  expect(looks).toBeLessThan(10);
  expect([1, 2, 3].map((id) => hold.windows.cover(id, 1))).toEqual([false, true, true]);
});
