import { describe, expect, test } from 'vitest';
import { cpuWaits, recordingPressure, regionPressure, tickPressure } from './pressure.ts';

describe('the pressure', () => {
  test.each([
    { name: 'nothing waits', backlog: [0, 0], done: 0, opened: 0, is: 'free' },
    { name: 'a transaction waits', backlog: [50, 250], done: 1_000, opened: 1_000, is: 'free' },
    { name: 'the disk stands still for 3 s', backlog: [3_000, 3_000], done: 0, opened: 1_000, is: 'busy' },
    {
      name: 'and all of it is done at once',
      backlog: [3_000, 3_000],
      done: 1_500,
      opened: 1_000,
      is: 'busy',
    },
    { name: 'the backlog grows', backlog: [6_000, 1_500], done: 4_000, opened: 9_000, is: 'overloaded' },
    { name: 'the disk is dead', backlog: [15_000, 15_000], done: 0, opened: 1_000, is: 'overloaded' },
    { name: 'memory fills', backlog: [100_000, 8_000], done: 0, opened: 12_000, is: 'overloaded' },
  ])('of the recording when $name: $is', ({ backlog: [events = 0, oldestMs = 0], done, opened, is }) => {
    const flow = { donePerSecond: done, openedPerSecond: opened, isSteady: done > 0 };
    expect(recordingPressure({ events, oldestMs }, flow)).toBe(is);
  });

  const QUIET = { offers: 1_000, unanswered: 0, turnedAway: 0, held: 500, capacity: 4_000 };
  test.each([
    { name: 'all is accepted', signs: {}, is: 'free' },
    { name: 'one job was refused', signs: { turnedAway: 1 }, is: 'busy' },
    { name: 'one job in twenty is', signs: { turnedAway: 50 }, is: 'overloaded' },
    { name: 'a few of few are', signs: { offers: 4, turnedAway: 4 }, is: 'busy' },
    { name: 'an agent of several is silent for a moment', signs: { unanswered: 100 }, is: 'free' },
    { name: 'acceptances are late', signs: { unanswered: 200 }, is: 'overloaded' },
    { name: 'there is no agent', signs: { held: 0, capacity: 0 }, is: 'free' },
    { name: 'many checks wait', signs: { held: 7_000 }, is: 'busy' },
    { name: 'small agents hold what was just offered', signs: { held: 700, capacity: 50 }, is: 'overloaded' },
    { name: 'they hold no more than that', signs: { held: 550, capacity: 50 }, is: 'free' },
    { name: 'agents are nearly full', signs: { held: 12_501 }, is: 'overloaded' },
  ])('of a region where $name: $is', ({ signs, is }) => {
    expect(regionPressure({ ...QUIET, ...signs })).toBe(is);
  });

  test.each([
    [40, 0, 'free'],
    [3, 1, 'busy'],
    [1, 1, 'busy'],
    [30, 15, 'busy'],
    [12, 8, 'overloaded'],
  ])('of %i ticks of which %i were late: %s', (ticks, late, is) => {
    expect(tickPressure(ticks, late)).toBe(is);
  });
});

test('a thread waits for a CPU for much of its time from two fifths of it on', () => {
  expect(cpuWaits(190, 500)).toBe('little');
  expect(cpuWaits(200, 500)).toBe('much');
  expect(cpuWaits(275, 500)).toBe('most');
});
