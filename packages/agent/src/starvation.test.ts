import type { Clock } from '@svc/shared/clock.ts';
import { describe, expect, test } from 'vitest';
import { Starvation } from './starvation.ts';

/** An event loop that can be blocked: its timers are late, as in a real one. */
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
  /** The sampling timer runs. */
  tick(): void {
    this.#tick();
  }
}

function started(): { clock: LoopClock; starvation: Starvation } {
  const clock = new LoopClock();
  const starvation = new Starvation(clock);
  starvation.start();
  return { clock, starvation };
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
    // Begun by the callback that follows the stall: it has seen nothing of it.
    expect(starvation.delaySince(clock.monotonic())).toBe(0);
  });

  test('several stalls add up, and old ones are forgotten', () => {
    const { clock, starvation } = started();
    for (let count = 0; count < 3; count++) {
      clock.pass(600);
      clock.tick();
    }
    expect(starvation.delaySince(0)).toBe(1_500);
    for (let count = 0; count < 2_000; count++) {
      clock.pass(100);
      clock.tick();
    }
    clock.pass(600);
    clock.tick();
    expect(starvation.delaySince(0)).toBe(500);
  });
});
