import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CpuSample, isStarvedBy, waitingParts } from './cpu-waiting.ts';

/** Samples every 250 ms of an agent that waits for `waited` of the time on a machine pressed for `pressed` of it. */
function samples(count: number, waited: number, pressed: number, throttled = 0): CpuSample[] {
  return Array.from({ length: count }, (_, index) => ({
    at: index * 250,
    waitedMs: 5_000 + index * 250 * waited,
    throttledMs: 70 + index * 250 * throttled,
    pressedMs: 9_000 + index * 250 * pressed,
    idleMs: index * 250 * (1 - waited),
  }));
}

describe('the parts of a span', () => {
  test('are those of the samples that it covers', () => {
    expect(waitingParts(samples(41, 0.4, 0.9), 2_000, 7_000)).toEqual({
      waited: expect.closeTo(0.4),
      pressed: expect.closeTo(0.9),
    });
  });

  test('count what happened within it only', () => {
    const all = [
      ...samples(5, 1, 1),
      { at: 2_000, waitedMs: 6_000, throttledMs: 70, pressedMs: 10_000, idleMs: 1_000 },
    ];
    expect(waitingParts(all, 1_000, 2_000)).toEqual({ waited: 0, pressed: 0 });
    expect(waitingParts(all, 500, 1_500)).toEqual({ waited: 0.5, pressed: 0.5 });
  });

  test('go on after the last sample as before it', () => {
    const { waited } = waitingParts(samples(3, 0.6, 0), 400, 700);
    expect(waited).toBeCloseTo(0.6);
    expect(waitingParts(samples(3, 0.6, 0), 600, 700).waited).toBeCloseTo(0.6);
  });

  test('a quota is in what the thread waited, and tells for itself where that is not counted', () => {
    const blind = (throttled: number) =>
      samples(9, 0, 0, throttled).map((sample) => ({ ...sample, waitedMs: null }));
    expect(waitingParts(blind(0.99), 0, 2_000).waited).toBeCloseTo(0.99);
    // Of several CPUs together it grows faster than time.
    expect(waitingParts(blind(1.6), 0, 2_000).waited).toBe(1);
    expect(waitingParts(samples(9, 0.9, 0, 0.99), 0, 2_000).waited).toBeCloseTo(0.9);
  });

  test('a quota that others of the cgroup use up is pressure, not waiting of the agent', () => {
    const parts = waitingParts(samples(9, 0.2, 0, 1.6), 0, 2_000);
    expect(parts).toEqual({ waited: expect.closeTo(0.2), pressed: 1 });
    expect(isStarvedBy(parts)).toBe(true);
    expect(isStarvedBy(waitingParts(samples(9, 0.05, 0, 1.6), 0, 2_000))).toBe(false);
  });

  test('are none where the machine does not count, nothing was read yet, or the span has no length', () => {
    const blind = [0, 250].map((at) => ({
      at,
      waitedMs: null,
      throttledMs: null,
      pressedMs: null,
      idleMs: at,
    }));
    expect(waitingParts(blind, 0, 250)).toEqual({ waited: 0, pressed: 0 });
    expect(waitingParts([], 0, 250)).toEqual({ waited: 0, pressed: 0 });
    expect(waitingParts(samples(1, 1, 1), 0, 250)).toEqual({ waited: 0, pressed: 0 });
    expect(waitingParts(samples(3, 1, 1), 250, 250)).toEqual({ waited: 0, pressed: 0 });
  });

  test('a counter that went back (another cgroup) counts nothing', () => {
    const moved = [
      ...samples(2, 0.5, 0),
      { at: 500, waitedMs: 3, throttledMs: 0, pressedMs: 9_000, idleMs: 0 },
    ];
    expect(waitingParts(moved, 250, 500).waited).toBe(0);
  });

  test('lie between 0 and 1 whatever was counted', () => {
    const counter = fc.option(fc.nat(100_000), { nil: null });
    const sample = fc.record({
      at: fc.nat(10_000),
      waitedMs: counter,
      throttledMs: counter,
      pressedMs: counter,
      idleMs: fc.nat(10_000),
    });
    fc.assert(
      fc.property(fc.array(sample), fc.nat(10_000), fc.nat(10_000), (unsorted, from, to) => {
        const sorted = unsorted.toSorted((one, other) => one.at - other.at);
        for (const part of Object.values(waitingParts(sorted, from, to))) {
          expect(part).toBeGreaterThanOrEqual(0);
          expect(part).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});

describe('by the parts that are taken for typical', () => {
  test.each([
    ['beside seven busy loops', 0.46, 0.96],
    ['beside seven busy loops, where it waited least', 0.12, 0.98],
    ['with a quota of a hundredth of a core', 0.84, 0.99],
    ['where a quota just began', 0.31, 0.42],
  ])('%s the agent is starved', (_, waited, pressed) => {
    expect(isStarvedBy({ waited, pressed })).toBe(true);
  });

  test.each([
    ['alone', 0.01, 0.24],
    ['in a service that keeps both cores busy', 0.08, 0.7],
    ['beside work of low priority on every core', 0.02, 1],
  ])('%s it is not', (_, waited, pressed) => {
    expect(isStarvedBy({ waited, pressed })).toBe(false);
  });
});
