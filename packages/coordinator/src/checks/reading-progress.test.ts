import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { ReadingLag, ReadingWorth } from './reading-progress.ts';

const HOUR = 3_600_000;

/**
 * The measurement of the lag under a server whose clock is `aheadMs` ahead of this machine's clock. The usual
 * age of its messages is known.
 */
function lag(aheadMs = 0) {
  const clock = new FakeClock();
  const lag = new ReadingLag(clock);
  const read = (ageMs: number, pending: number) =>
    lag.measureLag({ time: clock.wall() + aheadMs - ageMs, pending });
  read(5, 0);
  return { clock, lag, read };
}

describe.each([0, HOUR, -HOUR])('with the clock of the server %d ms ahead', (aheadMs) => {
  test('a message that is read at once has no lag; one that is followed by others has the lag of its age', () => {
    const { lag: reading, read } = lag(aheadMs);
    read(5, 3);
    expect(reading.ms).toBe(0);
    read(2_005, 3);
    expect(reading.ms).toBe(2_000);
    read(5, 0);
    expect(reading.ms).toBe(0);
  });
});

test('nothing is known while the first messages come from a backlog', () => {
  const reading = new ReadingLag(new FakeClock());
  reading.measureLag({ time: 0, pending: 10 });
  expect(reading.ms).toBe(0);
});

test.each([HOUR, -HOUR])('our clock is set by %d ms: no lag', (ms) => {
  const { clock, lag: reading } = lag();
  const time = clock.wall();
  clock.stepWall(ms);
  reading.measureLag({ time, pending: 3 });
  expect(reading.ms).toBe(0);
});

test.each([HOUR, -HOUR])('the clock that the server shares with us is set by %d ms: no lag', (ms) => {
  const { clock, lag: reading, read } = lag();
  clock.stepWall(ms);
  read(5, 3);
  expect(reading.ms).toBe(0);
});

const KIBIBYTE = 1024;

test.each([
  ['nothing read yet', 0, 0, 0, true],
  ['results that are new', 500, 100 * KIBIBYTE, 500, true],
  ['long results that are new', 40, 256 * KIBIBYTE, 40, true],
  ['half of them known', 500, 100 * KIBIBYTE, 250, true],
  ['repetitions', 500, 100 * KIBIBYTE, 10, false],
  ['garbage', 0, 256 * KIBIBYTE, 0, false],
  ['one new result in much padding', 1, 256 * KIBIBYTE, 1, false],
])('%s', (_what, results, bytes, fresh, isWorthIt) => {
  const worth = new ReadingWorth();
  for (let message = 0; message < 100; message += 1) {
    if (bytes > 0) worth.countRead(results, bytes);
    worth.countNew(fresh);
  }
  expect(worth.isWorthIt(0)).toBe(isWorthIt);
});

test('results that wait to be recorded do not count against their stream', () => {
  const worth = new ReadingWorth();
  worth.countRead(512, KIBIBYTE);
  expect(worth.isWorthIt(512)).toBe(true);
  expect(worth.isWorthIt(0)).toBe(false);
});

test('a stream that brings new results again is worth reading again', () => {
  const worth = new ReadingWorth();
  for (let message = 0; message < 1_000; message += 1) worth.countRead(0, 256 * KIBIBYTE);
  expect(worth.isWorthIt(0)).toBe(false);
  for (let message = 0; message < 100; message += 1) {
    worth.countRead(500, KIBIBYTE);
    worth.countNew(500);
  }
  expect(worth.isWorthIt(0)).toBe(true);
});
