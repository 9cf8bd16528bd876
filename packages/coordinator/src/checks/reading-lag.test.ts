import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { ReadingLag } from './reading-lag.ts';

const HOUR = 3_600_000;

/** A lag whose usual age is known, of a server whose clock is `aheadMs` ahead of ours. */
function lag(aheadMs = 0) {
  const clock = new FakeClock();
  const lag = new ReadingLag(clock);
  const read = (ageMs: number, pending: number) =>
    lag.read({ time: clock.wall() + aheadMs - ageMs, pending });
  read(5, 0);
  return { clock, lag, read };
}

describe.each([0, HOUR, -HOUR])('with the clock of the server %d ms ahead', (aheadMs) => {
  test('what is read at once has no lag, what is followed by more has that of its age', () => {
    const { lag: reading, read } = lag(aheadMs);
    read(5, 3);
    expect(reading.ms).toBe(0);
    read(2_005, 3);
    expect(reading.ms).toBe(2_000);
    read(5, 0);
    expect(reading.ms).toBe(0);
  });
});

test('nothing is known while the first messages are those of a backlog', () => {
  const reading = new ReadingLag(new FakeClock());
  reading.read({ time: 0, pending: 10 });
  expect(reading.ms).toBe(0);
});

test.each([HOUR, -HOUR])('our clock is set by %d ms: no lag', (ms) => {
  const { clock, lag: reading } = lag();
  const time = clock.wall();
  clock.stepWall(ms);
  reading.read({ time, pending: 3 });
  expect(reading.ms).toBe(0);
});

test.each([HOUR, -HOUR])('the clock that the server shares with us is set by %d ms: no lag', (ms) => {
  const { clock, lag: reading, read } = lag();
  clock.stepWall(ms);
  read(5, 3);
  expect(reading.ms).toBe(0);
});
