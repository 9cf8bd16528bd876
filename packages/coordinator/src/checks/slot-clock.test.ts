import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { log } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { SlotClock } from './slot-clock.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 1);

function at(newestSlot: number | null = null) {
  const clock = new FakeClock(START);
  return { clock, slotClock: new SlotClock(clock, newestSlot, log) };
}

test('without steps it is the wall clock', () => {
  const { clock, slotClock } = at();
  clock.advance(12_345);
  expect(slotClock.now()).toBe(START + 12_345);
  expect(slotClock.takeJump()).toBe(false);
});

describe('at the start', () => {
  test('it is not earlier than the newest recorded slot', () => {
    expect(at(START + 60_000).slotClock.now()).toBe(START + 60_000);
    expect(at(START - HOUR).slotClock.now()).toBe(START);
  });

  test('slots of a clock that was ahead do not move it', () => {
    const slotClock = new SlotClock(new FakeClock(START), START - 1_000, log, START + HOUR);
    expect(slotClock.aheadSlot).toBe(START + HOUR);
    expect(slotClock.now()).toBe(START);
    expect(at(START).slotClock.aheadSlot).toBeNull();
  });
});

describe('when the wall clock is set', () => {
  test('back by an hour: it continues, a tenth slower, and does not jump', () => {
    const { clock, slotClock } = at();
    clock.advance(1_000);
    slotClock.now();
    clock.stepWall(-HOUR);
    clock.advance(50);
    expect(slotClock.now()).toBe(START + 1_000 + 45);
    clock.advance(600_000);
    expect(slotClock.now()).toBe(START + 1_045 + 540_000);
    expect(slotClock.takeJump()).toBe(false);
  });

  test('back by an hour: after ten hours it has met the wall clock and follows it', () => {
    const { clock, slotClock } = at();
    clock.stepWall(-HOUR);
    for (let minutes = 0; minutes < 10 * 60 + 1; minutes += 1) {
      clock.advance(60_000);
      slotClock.now();
    }
    expect(Math.abs(slotClock.now() - clock.wall())).toBeLessThanOrEqual(1);
  });

  test('forward by an hour: it jumps, once', () => {
    const { clock, slotClock } = at();
    clock.stepWall(HOUR);
    clock.advance(50);
    expect(slotClock.now()).toBe(START + HOUR + 50);
    expect(slotClock.takeJump()).toBe(true);
    expect(slotClock.takeJump()).toBe(false);
    expect(slotClock.jumps).toBe(1);
    expect(slotClock.jumpedMs).toBe(HOUR);
  });

  test('each jump is reported once, and is added to the earlier ones', () => {
    const { clock, slotClock } = at();
    const told: number[] = [];
    const ignore = slotClock.onJump(() => told.push(slotClock.jumpedMs));
    expect(slotClock.jumpedAt).toBeNull();
    for (const ms of [HOUR, -HOUR, 2 * HOUR]) {
      clock.stepWall(ms);
      clock.advance(1_000);
      slotClock.now();
    }
    // After the wall clock was set back, the slots' clock approached it by 100 ms.
    expect(told).toEqual([HOUR, 2 * HOUR + 100]);
    expect(slotClock.jumpedAt).toBe(3_000);
    ignore();
    clock.stepWall(HOUR);
    slotClock.now();
    expect(told).toHaveLength(2);
  });

  test('a jump that was not noticed yet counts as a jump at this moment', () => {
    const { clock, slotClock } = at();
    expect(slotClock.hasJumpedWithin(60_000)).toBe(false);
    clock.stepWall(HOUR);
    expect(slotClock.hasJumpedWithin(60_000)).toBe(true);
    clock.advance(59_999);
    expect(slotClock.hasJumpedWithin(60_000)).toBe(true);
    clock.advance(1);
    expect(slotClock.hasJumpedWithin(60_000)).toBe(false);
  });

  test('forward by five seconds: it makes up for it slowly', () => {
    const { clock, slotClock } = at();
    clock.stepWall(5_000);
    clock.advance(1_000);
    expect(slotClock.now()).toBe(START + 1_100);
    clock.advance(60_000);
    expect(slotClock.now()).toBe(clock.wall());
    expect(slotClock.takeJump()).toBe(false);
  });
});

test('it never goes back, and between jumps keeps within a tenth of real time', () => {
  const step = fc.record({
    after: fc.integer({ min: 0, max: 600_000 }),
    wall: fc.integer({ min: -2 * HOUR, max: 2 * HOUR }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      const { clock, slotClock } = at();
      let before = slotClock.now();
      for (const { after, wall } of steps) {
        clock.stepWall(wall);
        clock.advance(after);
        const now = slotClock.now();
        expect(now).toBeGreaterThanOrEqual(before);
        expect(Number.isInteger(now)).toBe(true);
        if (slotClock.takeJump()) expect(now).toBe(clock.wall());
        else expect(Math.abs(now - before - after)).toBeLessThanOrEqual(after * 0.1 + 1);
        before = now;
      }
    }),
  );
});
