import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { HeldJobs } from './held-jobs.ts';

const MINUTE = 60_000;

test('a job is held until it is released, then remembered for at least five minutes', () => {
  const clock = new FakeClock();
  const held = new HeldJobs(clock);
  expect(held.stateOf(7, 1_000)).toBe('unknown');
  held.holdJob(7, 1_000, 300);
  expect(held.stateOf(7, 1_000)).toBe('held');
  expect(held.stateOf(7, 2_000)).toBe('unknown');
  expect([held.size, held.bytes]).toEqual([1, 300]);

  clock.advance(4 * MINUTE);
  held.release(7, 1_000, 'finished');
  expect([held.size, held.bytes]).toEqual([0, 0]);
  clock.advance(5 * MINUTE);
  expect(held.stateOf(7, 1_000)).toBe('finished');
  clock.advance(10 * MINUTE);
  expect(held.stateOf(7, 1_000)).toBe('unknown');
});

test('a job that the agent no longer answers for is forgotten at once', () => {
  const held = new HeldJobs(new FakeClock());
  held.holdJob(7, 1_000, 300);
  held.release(7, 1_000, 'forgotten');
  expect(held.stateOf(7, 1_000)).toBe('unknown');
});

test('after a long silence the old generation does not linger', () => {
  const clock = new FakeClock();
  const held = new HeldJobs(clock);
  held.release(7, 1_000, 'finished');
  clock.advance(60 * MINUTE);
  expect(held.stateOf(7, 1_000)).toBe('unknown');
});
