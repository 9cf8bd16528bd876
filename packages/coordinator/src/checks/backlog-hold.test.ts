import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { BacklogHold } from './backlog-hold.ts';

function bench() {
  const clock = new FakeClock();
  const ended: number[] = [];
  const hold = new BacklogHold({ clock, slotClock: { now: () => clock.wall() } });
  hold.start((ids) => ended.push(...ids));
  /** Reads a result of a check that began `ageMs` ago and took `tookMs`. */
  const read = (ageMs: number, tookMs = 100, more: Partial<CheckResult> = {}): void =>
    hold.holdBacklog([
      {
        monitor: 7,
        version: 1,
        slot: clock.wall() - ageMs,
        token: 't',
        outcome: 'failed',
        started_at: 0,
        attempts: [{ outcome: 'failed', started_ms: 0, latency: tookMs }],
        ...more,
      },
    ]);
  return { clock, ended, hold, read };
}

test('a result whose check ended less than 30 s ago holds nothing, and neither does a `not_run`', () => {
  const { hold, read } = bench();
  read(200);
  read(181_000, 180_500);
  read(29_000);
  read(600_000, 0, { outcome: 'not_run', reason: 'network-down', attempts: [] });
  expect(hold.isHeld(7)).toBe(false);
});

test('a backlog holds its monitor until none of its results has come for 3 s', () => {
  const { clock, hold, read, ended } = bench();
  for (let age = 600_000; age > 30_000; age -= 30_000) {
    read(age);
    clock.advance(1_000);
    expect(hold.isHeld(7)).toBe(true);
    expect(hold.isHeld(8)).toBe(false);
  }
  read(10_000);
  clock.advance(1_900);
  expect(ended).toEqual([]);
  clock.advance(200);
  expect(ended).toEqual([7]);
  expect(hold.isHeld(7)).toBe(false);
  expect(clock.pendingTimers).toBe(0);
});

test('a backlog without end holds for a minute, and then holds nothing for ten', () => {
  const { clock, hold, read, ended } = bench();
  for (let second = 0; second < 59; second += 1) {
    read(600_000);
    clock.advance(1_000);
  }
  expect(ended).toEqual([]);
  read(600_000);
  clock.advance(1_100);
  expect(ended).toEqual([7]);
  read(600_000);
  expect(hold.isHeld(7)).toBe(false);
  clock.advance(600_000);
  read(600_000);
  expect(hold.isHeld(7)).toBe(true);
});

test('repeated short backlogs hold for no longer than one long backlog', () => {
  const { clock, hold, read } = bench();
  let heldMs = 0;
  for (let time = 0; time < 600; time += 1) {
    // Each hold ends by itself, and the next hold begins at once.
    if (time % 10 < 8) read(600_000);
    clock.advance(1_000);
    if (hold.isHeld(7)) heldMs += 1_000;
  }
  expect(heldMs).toBeLessThanOrEqual(63_000);
  clock.advance(600_000);
  read(600_000);
  expect(hold.isHeld(7)).toBe(true);
});

test("ten minutes after a monitor's hold, the next result of any monitor removes the hold's total from memory", () => {
  const { clock, hold, read, ended } = bench();
  read(600_000);
  clock.advance(3_100);
  expect(ended).toEqual([7]);
  clock.advance(599_000);
  read(200, 100, { monitor: 8 });
  expect(hold.size).toBe(1);
  clock.advance(1_100);
  read(200, 100, { monitor: 8 });
  expect(hold.size).toBe(0);
});
