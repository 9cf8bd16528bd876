import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { newCounters } from './dispatch/counters.ts';
import { MemoryReturn } from './memory-return.ts';

const MIB = 1_024 ** 2;

/** A coordinator that has run for a minute and holds 250 MiB, of which a collection leaves 250. */
function coordinator(residentMiB = 250) {
  const clock = new FakeClock();
  const { jobsSkipped } = newCounters();
  const state = { residentMiB, leftMiB: 250, collections: 0 };
  const events: string[] = [];
  let change = () => {};
  const memoryReturn = new MemoryReturn({
    clock,
    log: pino({ level: 'silent' }),
    jobsSkipped: () => jobsSkipped,
    monitors: {
      onChange: (listener) => {
        change = () => listener(null, null);
        return () => {
          change = () => {};
        };
      },
    },
    openAhead: (ms) => events.push(`jobs of ${ms} ms`),
    memory: {
      residentBytes: () => state.residentMiB * MIB,
      collect: () => {
        events.push('collection');
        state.collections += 1;
        state.residentMiB = state.leftMiB;
      },
    },
  });
  memoryReturn.start();
  clock.advance(60_000);
  const changes = (count: number) => {
    for (let index = 0; index < count; index += 1) change();
  };
  return { clock, state, events, jobsSkipped, changes, memoryReturn };
}

/** The same after ten minutes of overload, which has filled 600 MiB. */
function overloaded() {
  const parts = coordinator();
  parts.state.residentMiB = 600;
  for (let second = 0; second < 600; second += 1) {
    parts.jobsSkipped['region-overloaded'] += 100;
    parts.clock.advance(1_000);
  }
  return parts;
}

describe('memory is returned', () => {
  test('once, half a minute after an overload, when the jobs of the pause are given out', () => {
    const { clock, state, events } = overloaded();
    state.leftMiB = 400;
    clock.advance(25_000);
    expect(events).toEqual([]);
    clock.advance(10_000);
    expect(events).toEqual(['jobs of 2000 ms', 'collection']);
    state.residentMiB = 600;
    clock.advance(3_600_000);
    expect(state.collections).toBe(1);
  });

  test('after a change of many monitors', () => {
    const { clock, state, changes } = coordinator();
    for (let step = 0; step < 20; step += 1) {
      changes(250);
      clock.advance(1_000);
    }
    Object.assign(state, { residentMiB: 400, leftMiB: 300 });
    clock.advance(25_000);
    expect(state.collections).toBe(0);
    clock.advance(11_000);
    expect(state).toMatchObject({ collections: 1, residentMiB: 300 });
  });

  test('after a start with a changed file, which had no less memory at any time', () => {
    const { clock, state, changes } = coordinator(530);
    changes(5_000);
    clock.advance(36_000);
    expect(state).toMatchObject({ collections: 1, residentMiB: 250 });
  });

  test('after a change of many monitors that took half an hour', () => {
    const { clock, state, changes } = coordinator();
    for (let second = 0; second < 1_800; second += 1) {
      changes(3);
      clock.advance(1_000);
    }
    Object.assign(state, { residentMiB: 400, leftMiB: 300 });
    clock.advance(36_000);
    expect(state).toMatchObject({ collections: 1, residentMiB: 300 });
  });

  test('after each overload', () => {
    const { clock, state, jobsSkipped } = overloaded();
    state.leftMiB = 300;
    clock.advance(60_000);
    jobsSkipped['region-overloaded'] += 1;
    state.residentMiB = 500;
    clock.advance(60_000);
    expect(state).toMatchObject({ collections: 2, residentMiB: 300 });
  });

  test('not after each of many overloads: three times in half an hour', () => {
    const { clock, state, jobsSkipped } = overloaded();
    state.leftMiB = 300;
    for (let minute = 0; minute < 120; minute += 1) {
      jobsSkipped['region-overloaded'] += 1;
      state.residentMiB = 500;
      clock.advance(60_000);
    }
    expect(state.collections).toBe(12);
    clock.advance(1_800_000);
    expect(state).toMatchObject({ collections: 13, residentMiB: 300 });
  });

  test('after an overload, also where someone changes a monitor every second', () => {
    const { clock, state, changes } = overloaded();
    state.leftMiB = 300;
    for (let second = 0; second < 60; second += 1) {
      changes(1);
      clock.advance(1_000);
    }
    expect(state).toMatchObject({ collections: 1, residentMiB: 300 });
    state.residentMiB = 600;
    for (let second = 0; second < 20_000; second += 1) {
      changes(1);
      clock.advance(1_000);
    }
    expect(state.collections).toBe(1);
  });

  test('not while the load stays as it is, however much memory comes and goes', () => {
    const { clock, state, changes, jobsSkipped } = coordinator();
    for (let hour = 0; hour < 24; hour += 1) {
      state.residentMiB = 250 + (hour % 2) * 150;
      changes(1_000);
      // Not by overload.
      jobsSkipped['predecessor-running'] += 10;
      clock.advance(3_600_000);
    }
    expect(state.collections).toBe(0);
  });

  test('not for less than the pause is worth, also later', () => {
    const { clock, state } = overloaded();
    state.residentMiB = 300;
    clock.advance(60_000);
    state.residentMiB = 600;
    clock.advance(3_600_000);
    expect(state.collections).toBe(0);
  });

  test('not after the stop, even when it was prepared', () => {
    const { clock, state, events, memoryReturn } = overloaded();
    while (events.length === 0) clock.advance(100);
    memoryReturn.stop();
    clock.advance(3_600_000);
    expect(state.collections).toBe(0);
  });
});
