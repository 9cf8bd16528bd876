import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PassedTime } from './passed-time.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A wall clock that tests can set, and a monotonic clock. */
class Clocks {
  wall = 1_000 * DAY;
  monotonic = 5;
  readonly passed = new PassedTime(this.wall, this.monotonic);

  pass(ms: number): void {
    this.wall += ms;
    this.monotonic += ms;
    this.look();
  }

  set(byMs: number): void {
    this.wall += byMs;
    this.look();
  }

  look(): void {
    this.passed.compareClocks(this.wall, this.monotonic);
  }
}

test('ages follow a wall clock that is not set', () => {
  const clocks = new Clocks();
  const { wall } = clocks;
  clocks.pass(90 * MINUTE);
  expect(clocks.passed.since(wall)).toBe(90 * MINUTE);
  expect(clocks.passed.since(wall - DAY)).toBe(DAY + 90 * MINUTE);
});

test('a clock that is set forward makes nothing older, and later instants have their true age', () => {
  const clocks = new Clocks();
  const { wall } = clocks;
  clocks.pass(MINUTE);
  clocks.set(30 * DAY);
  clocks.pass(MINUTE);
  const later = clocks.wall;
  clocks.pass(MINUTE);
  expect(clocks.passed.since(wall)).toBe(3 * MINUTE);
  expect(clocks.passed.since(later)).toBe(MINUTE);
});

test('a clock that is set forward and back again leaves ages as they were', () => {
  const clocks = new Clocks();
  const { wall } = clocks;
  clocks.set(30 * DAY);
  clocks.pass(MINUTE);
  clocks.set(-30 * DAY);
  clocks.pass(MINUTE);
  expect(clocks.passed.since(wall)).toBe(2 * MINUTE);
});

test('over several jumps forward, each instant keeps its true age', () => {
  const steps = fc.array(
    fc.record({
      passMs: fc.integer({ min: 1, max: MINUTE }),
      jumpMs: fc.integer({ min: 5 * MINUTE, max: DAY }),
    }),
    { maxLength: 10 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const clocks = new Clocks();
      const noted: { at: number; monotonic: number }[] = [];
      for (const { passMs, jumpMs } of all) {
        clocks.pass(passMs);
        noted.push({ at: clocks.wall, monotonic: clocks.monotonic });
        clocks.set(jumpMs);
        clocks.pass(1);
      }
      for (const { at, monotonic } of noted) {
        expect(clocks.passed.since(at)).toBe(clocks.monotonic - monotonic);
      }
    }),
  );
});
