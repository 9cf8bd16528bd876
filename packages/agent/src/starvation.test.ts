import type { Clock } from '@svc/shared/clock.ts';
import type { CpuCounters } from '@svc/shared/process/cpu-counters.ts';
import { describe, expect, test } from 'vitest';
import { Starvation } from './starvation.ts';

/** An event loop that can be blocked. After a block, its timers are late, as in a real event loop. */
class LoopClock implements Clock {
  #now = 0;
  #tick: () => void = () => {};
  wall = (): number => this.#now;
  monotonic = (): number => this.#now;
  after = (): (() => void) => () => {};
  every(_intervalMs: number, task: () => void): () => void {
    this.#tick = task;
    return () => {
      this.#tick = () => {};
    };
  }
  pass(ms: number): void {
    this.#now += ms;
  }
  /** Runs the sampling timer. */
  tick(): void {
    this.#tick();
  }
}

function started() {
  const clock = new LoopClock();
  const counted: { -readonly [C in keyof CpuCounters]: number } = {
    waitedMs: 0,
    throttledMs: 0,
    pressedMs: 0,
    idleMs: 0,
  };
  const reads = { count: 0 };
  const read = (): CpuCounters => {
    reads.count += 1;
    return { ...counted };
  };
  const starvation = new Starvation(clock, { read, close: () => {} });
  starvation.start();
  /** Lets `ms` pass. The agent waits for a CPU during the part `waited` of this time. */
  const pass = (ms: number, waited: number): void => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.pass(100);
      counted.waitedMs += 100 * waited;
      counted.idleMs += 100;
      clock.tick();
    }
  };
  return { clock, starvation, counted, reads, pass };
}

describe('starvation', () => {
  test('a loop that is on time, or late by less than 500 ms, is not starved', () => {
    const { clock, starvation } = started();
    clock.pass(100);
    clock.tick();
    clock.pass(599);
    clock.tick();
    expect(starvation.delaySince(0)).toBe(0);
    expect(starvation.takeLargestDelay()).toBe(499);
    expect(starvation.takeLargestDelay()).toBe(0);
  });

  test('a stall counts for what was running then, not for what began later', () => {
    const { clock, starvation } = started();
    clock.pass(700);
    clock.tick();
    const after = clock.monotonic();
    expect(starvation.delaySince(0)).toBe(600);
    expect(starvation.delaySince(after)).toBe(0);
    expect(starvation.delaySince(after - 50)).toBe(50);
  });

  test('a stall that is just ending counts before the sampling timer has run', () => {
    const { clock, starvation } = started();
    clock.pass(1_000);
    expect(starvation.delaySince(0)).toBe(900);
    expect(starvation.takeLargestDelay()).toBe(900);
  });

  test('an attempt that began after the last sample counts only its own part of the ending stall', () => {
    const { clock, starvation } = started();
    clock.pass(90);
    const began = clock.monotonic();
    clock.pass(2_000);
    expect(starvation.delaySince(began)).toBeLessThanOrEqual(2_000);
    expect(starvation.delaySince(began)).toBeGreaterThanOrEqual(1_900);
    // This attempt began in the callback after the stall, so the stall did not delay it.
    expect(starvation.delaySince(clock.monotonic())).toBe(0);
  });

  test('several stalls add up, and old ones are forgotten', () => {
    const { clock, starvation } = started();
    for (let count = 0; count < 3; count += 1) {
      clock.pass(600);
      clock.tick();
    }
    expect(starvation.delaySince(0)).toBe(1_500);
    for (let count = 0; count < 2_000; count += 1) {
      clock.pass(100);
      clock.tick();
    }
    clock.pass(600);
    clock.tick();
    expect(starvation.delaySince(0)).toBe(500);
  });
});

describe('an attempt of 120 s, the longest there is', () => {
  test('is judged by all stalls in it', () => {
    const { clock, starvation, pass } = started();
    const began = clock.monotonic();
    clock.pass(600);
    clock.tick();
    pass(118_800, 0);
    clock.pass(600);
    clock.tick();
    expect(clock.monotonic() - began).toBe(120_000);
    expect(starvation.delaySince(began)).toBe(1_000);
  });

  test('is judged by its whole wait for a CPU, also when old samples are dropped during it', () => {
    const { clock, starvation, pass } = started();
    pass(310_000, 0);
    const began = clock.monotonic();
    pass(60_000, 1);
    pass(60_000, 0);
    expect(starvation.heldBackSince(began).isWaiting).toBe(true);
  });
});

describe('waiting for a CPU', () => {
  test('voids attempts of which it was a large part', () => {
    const { clock, starvation, pass } = started();
    pass(5_000, 0.05);
    const began = clock.monotonic();
    pass(5_000, 0.5);
    expect(starvation.heldBackSince(began)).toMatchObject({ loopDelayMs: 0, isWaiting: true });
    expect(starvation.heldBackSince(0).isWaiting).toBe(true);
    const later = clock.monotonic();
    pass(5_000, 0.05);
    expect(starvation.heldBackSince(later).isWaiting).toBe(false);
  });

  test('is read a few times a second, however many attempts ask', () => {
    const { clock, starvation, reads, pass } = started();
    pass(1_000, 0);
    for (let asked = 0; asked < 1_000; asked += 1) starvation.heldBackSince(clock.monotonic() - 500);
    expect(reads.count).toBeLessThanOrEqual(5);
  });

  test('is read for an attempt where the last sample is old', () => {
    const { clock, starvation, counted } = started();
    clock.pass(400);
    counted.waitedMs += 300;
    expect(starvation.heldBackSince(0).isWaiting).toBe(true);
  });

  test('does not count when it was a small part of a long attempt', () => {
    const { clock, starvation, pass } = started();
    pass(10_000, 1);
    pass(170_000, 0);
    expect(starvation.heldBackSince(0).isWaiting).toBe(false);
    expect(starvation.heldBackSince(clock.monotonic() - 180_000).isWaiting).toBe(false);
    pass(400_000, 0);
    expect(starvation.heldBackSince(0).isWaiting).toBe(false);
  });
});

describe('an agent that was held back', () => {
  test('was free nevertheless when it slept for long enough, and could run', () => {
    const { clock, starvation, pass } = started();
    pass(1_000, 0);
    const began = clock.monotonic();
    pass(10_000, 0.4);
    expect(starvation.heldBackSince(began)).toMatchObject({ loopDelayMs: 0, isWaiting: true, freeMs: 5_760 });
    const later = clock.monotonic();
    pass(10_000, 0.55);
    expect(starvation.heldBackSince(later)).toMatchObject({ loopDelayMs: 0, isWaiting: true });
    expect(starvation.heldBackSince(later).freeMs).toBeLessThanOrEqual(4_500);
    expect(starvation.heldBackSince(later, 2_000).freeMs).toBeLessThanOrEqual(900);
  });

  test('was not free when it was stopped, which looks like sleep', () => {
    const { clock, starvation, counted, pass } = started();
    pass(1_000, 0);
    const began = clock.monotonic();
    pass(2_000, 0);
    clock.pass(8_000);
    counted.idleMs += 8_000;
    clock.tick();
    expect(starvation.heldBackSince(began)).toMatchObject({ freeMs: expect.closeTo(2_000, -3) });
  });
});

describe('a sick agent', () => {
  test('waited for half of the last ten seconds', () => {
    const { starvation, pass } = started();
    pass(20_000, 0.4);
    expect(starvation.isSick).toBe(false);
    pass(10_000, 0.6);
    expect(starvation.isSick).toBe(true);
    pass(10_000, 0.1);
    expect(starvation.isSick).toBe(false);
  });

  test('or voided an attempt within that time', () => {
    const { starvation, pass } = started();
    pass(1_000, 0);
    starvation.voided();
    expect(starvation.isSick).toBe(true);
    pass(10_000, 0);
    expect(starvation.isSick).toBe(false);
  });

  test('is not judged by its first seconds', () => {
    const { starvation, pass } = started();
    pass(5_000, 1);
    expect(starvation.isSick).toBe(false);
  });
});
