import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryReturn } from './memory-return.ts';

const MIB = 1_024 ** 2;

/** An agent with `residentMiB` of memory, of which a collection leaves `leftMiB`. */
function agent(residentMiB: number) {
  const clock = new FakeClock();
  const state = { residentMiB, leftMiB: residentMiB, running: 0, collections: 0 };
  const memoryReturn = new MemoryReturn({
    clock,
    log: pino({ level: 'silent' }),
    running: () => state.running,
    memory: {
      residentBytes: () => state.residentMiB * MIB,
      collect: () => {
        state.collections += 1;
        state.residentMiB = state.leftMiB;
      },
    },
  });
  memoryReturn.start();
  return { clock, state, memoryReturn };
}

/** An agent that was idle after its start, and has grown from 85 to 215 MiB under 4,000 running attempts. */
function overloaded() {
  const parts = agent(85);
  parts.clock.advance(60_000);
  parts.state.collections = 0;
  Object.assign(parts.state, { residentMiB: 215, running: 4_000 });
  parts.clock.advance(600_000);
  return parts;
}

describe('memory is returned', () => {
  test('once, when an overload has been over for half a minute', () => {
    const { clock, state } = overloaded();
    expect(state.collections).toBe(0);
    Object.assign(state, { running: 50, leftMiB: 100 });
    clock.advance(25_000);
    expect(state.collections).toBe(0);
    clock.advance(5_000);
    expect(state).toMatchObject({ collections: 1, residentMiB: 100 });
    clock.advance(3_600_000);
    expect(state.collections).toBe(1);
  });

  test.each([
    { most: 4_000, collections: 1 },
    { most: 60, collections: 0 },
  ])('where it is 20 MiB, after $most attempts at once: $collections times', ({ most, collections }) => {
    const { clock, state } = agent(85);
    clock.advance(60_000);
    Object.assign(state, { collections: 0, residentMiB: 105, running: most });
    clock.advance(60_000);
    Object.assign(state, { running: 5, leftMiB: 90 });
    clock.advance(600_000);
    expect(state.collections).toBe(collections);
    Object.assign(state, { residentMiB: 110 });
    clock.advance(600_000);
    expect(state.collections).toBe(collections);
  });

  test('not between two waves of one overload', () => {
    const { clock, state } = overloaded();
    for (let wave = 0; wave < 10; wave += 1) {
      state.running = 50;
      clock.advance(20_000);
      state.running = 4_000;
      clock.advance(20_000);
    }
    expect(state.collections).toBe(0);
  });

  test('not again and again where it is in use, but once more when the jobs of the overload are forgotten', () => {
    const { clock, state } = overloaded();
    Object.assign(state, { running: 50, leftMiB: 210 });
    clock.advance(600_000);
    expect(state.collections).toBe(1);
    clock.advance(3_600_000);
    expect(state.collections).toBe(2);
  });

  test('once more under a steady load, however much of it comes and goes', () => {
    const { clock, state } = overloaded();
    Object.assign(state, { running: 50, leftMiB: 130 });
    clock.advance(60_000);
    Object.assign(state, { residentMiB: 150, leftMiB: 100, running: 60 });
    clock.advance(600_000);
    expect(state).toMatchObject({ collections: 1, residentMiB: 150 });
    clock.advance(60_000);
    expect(state).toMatchObject({ collections: 2, residentMiB: 100 });
    Object.assign(state, { residentMiB: 120 });
    clock.advance(3_600_000);
    expect(state.collections).toBe(2);
  });

  test('again when an overload ends that went on after a return, in place of what that return left', () => {
    const { clock, state } = overloaded();
    Object.assign(state, { running: 900, leftMiB: 125 });
    clock.advance(30_000);
    expect(state).toMatchObject({ collections: 1, residentMiB: 125 });
    for (const [residentMiB, leftMiB] of [
      [135, 128],
      [138, 98],
    ]) {
      Object.assign(state, { residentMiB, running: 1_500, leftMiB });
      clock.advance(60_000);
      state.running = 20;
      clock.advance(30_000);
    }
    expect(state).toMatchObject({ collections: 3, residentMiB: 98 });
  });

  test('in waves of an overload that leave what is in use: three times', () => {
    const { clock, state } = overloaded();
    state.leftMiB = 104;
    for (let minute = 0; minute < 120; minute += 1) {
      Object.assign(state, { residentMiB: 110, running: 1_500 });
      clock.advance(20_000);
      state.running = 20;
      clock.advance(40_000);
    }
    expect(state.collections).toBe(3);
  });

  test('not in the next overload', () => {
    const { clock, state } = overloaded();
    Object.assign(state, { running: 50, leftMiB: 130 });
    clock.advance(60_000);
    Object.assign(state, { residentMiB: 215, running: 4_000 });
    clock.advance(3_600_000);
    expect(state.collections).toBe(1);
  });

  test('not after the start while something runs', () => {
    const { clock, state } = agent(73);
    state.running = 8;
    clock.advance(5_000);
    state.running = 1;
    clock.advance(60_000);
    expect(state.collections).toBe(0);
    state.running = 0;
    clock.advance(5_000);
    expect(state.collections).toBe(1);
  });

  test('once after the start, when the agent is calm, however little it is', () => {
    const { clock, state } = agent(73);
    state.leftMiB = 68;
    clock.advance(25_000);
    expect(state.collections).toBe(0);
    clock.advance(5_000);
    expect(state).toMatchObject({ collections: 1, residentMiB: 68 });
    state.residentMiB = 73;
    clock.advance(3_600_000);
    expect(state.collections).toBe(1);
  });

  test('not while the load stays as it is', () => {
    const { clock, state } = agent(85);
    clock.advance(5_000);
    state.running = 300;
    for (let hour = 0; hour < 24; hour += 1) {
      state.residentMiB += 5;
      state.running = hour % 2 === 0 ? 300 : 200;
      clock.advance(3_600_000);
    }
    expect(state.collections).toBe(0);
  });

  test('not for less than the pause is worth', () => {
    const { clock, state } = overloaded();
    Object.assign(state, { residentMiB: 96, running: 0 });
    clock.advance(3_600_000);
    expect(state.collections).toBe(0);
  });

  test('after the next overload too', () => {
    const { clock, state } = overloaded();
    Object.assign(state, { running: 0, leftMiB: 100 });
    clock.advance(60_000);
    Object.assign(state, { residentMiB: 215, running: 4_000 });
    clock.advance(60_000);
    state.running = 0;
    clock.advance(60_000);
    expect(state).toMatchObject({ collections: 2, residentMiB: 100 });
  });

  test('not after the stop', () => {
    const { clock, state, memoryReturn } = overloaded();
    memoryReturn.stop();
    state.running = 0;
    clock.advance(3_600_000);
    expect(state.collections).toBe(0);
  });
});
