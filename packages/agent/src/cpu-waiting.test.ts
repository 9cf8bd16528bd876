import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CpuSample,
  freeMs,
  isSilenceProvenBy,
  isSlownessProvenBy,
  isStarvedBy,
  waitingParts,
} from './cpu-waiting.ts';

/**
 * Samples of an agent, taken every 250 ms. The agent waits during the part
 * `waited` of the time. The machine is under pressure during the part `pressed`. The
 * throttling by a quota grows by the part `throttled` of the time.
 */
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
  test('come from the samples that it covers', () => {
    expect(waitingParts(samples(41, 0.4, 0.9), 2_000, 7_000)).toEqual({
      waited: expect.closeTo(0.4),
      pressed: expect.closeTo(0.9),
    });
  });

  test('count only what happened within the span', () => {
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

  test('use the count of throttling only where the waiting of the thread, which includes it, is not counted', () => {
    const blind = (throttled: number) =>
      samples(9, 0, 0, throttled).map((sample) => ({ ...sample, waitedMs: null }));
    expect(waitingParts(blind(0.99), 0, 2_000).waited).toBeCloseTo(0.99);
    // The throttling is summed over several CPUs, so it may grow faster than time.
    expect(waitingParts(blind(1.6), 0, 2_000).waited).toBe(1);
    expect(waitingParts(samples(9, 0.9, 0, 0.99), 0, 2_000).waited).toBeCloseTo(0.9);
  });

  test('a quota that others of the cgroup use up is pressure, not waiting of the agent', () => {
    const parts = waitingParts(samples(9, 0.2, 0, 1.6), 0, 2_000);
    expect(parts).toEqual({ waited: expect.closeTo(0.2), pressed: 1 });
    expect(isStarvedBy(parts)).toBe(true);
    expect(isStarvedBy(waitingParts(samples(9, 0.05, 0, 1.6), 0, 2_000))).toBe(false);
  });

  test('are 0 when the machine does not count, nothing was read yet, or the span has no length', () => {
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

  test('lie between 0 and 1 whatever the counters are', () => {
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

describe('by typical parts', () => {
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

/**
 * What an agent does in one turn, in this order, ms: it sleeps, wakes up late because it waits for a CPU,
 * runs, and is held up while it runs.
 */
type Turn = {
  readonly slept: number;
  readonly wokeLate: number;
  readonly ran: number;
  readonly heldUp: number;
};

const turn: fc.Arbitrary<Turn> = fc.record({
  slept: fc.nat(900),
  wokeLate: fc.nat(400),
  ran: fc.nat(100),
  heldUp: fc.nat(400),
});
const turns = fc.array(turn, { minLength: 1, maxLength: 120 });

/** The counters at the end of each turn, as the kernel and libuv would count. */
function samplesOf(all: readonly Turn[]): CpuSample[] {
  let last = { at: 0, waitedMs: 70, throttledMs: null, pressedMs: null, idleMs: 9_000 };
  const samples = [last];
  for (const { slept, wokeLate, ran, heldUp } of all) {
    last = {
      ...last,
      at: last.at + slept + wokeLate + ran + heldUp,
      waitedMs: last.waitedMs + wokeLate + heldUp,
      // libuv counts the delay of a late wake-up as idle time.
      idleMs: last.idleMs + slept + wokeLate,
    };
    samples.push(last);
  }
  return samples;
}

/** The spans in which the agent slept, each as its start and its end. */
function sleepOf(all: readonly Turn[]): [number, number][] {
  let at = 0;
  return all.map(({ slept, wokeLate, ran, heldUp }) => {
    const from = at;
    at += slept + wokeLate + ran + heldUp;
    return [from, from + slept];
  });
}

/**
 * When the agent handles data that arrives at `at`: at once while it sleeps, otherwise when it next sleeps.
 */
function handledAt(sleep: readonly [number, number][], at: number): number {
  const next = sleep.find(([, to]) => to >= at);
  return next === undefined ? Number.POSITIVE_INFINITY : Math.max(at, next[0]);
}

describe('the free time of an attempt', () => {
  test('is never more than the agent slept within it', () => {
    fc.assert(
      fc.property(turns, fc.nat(20_000), fc.nat(20_000), (all, from, duration) => {
        const to = from + duration;
        const slept = sleepOf(all).reduce(
          (sum, [start, end]) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)),
          0,
        );
        expect(freeMs(samplesOf(all), from, to)).toBeLessThanOrEqual(slept);
      }),
    );
  });

  test('equals its sleep when it was never held up', () => {
    const all = Array.from({ length: 20 }, () => ({ slept: 240, wokeLate: 0, ran: 10, heldUp: 0 }));
    expect(freeMs(samplesOf(all), 1_000, 4_000)).toBe(12 * 240);
    expect(isSilenceProvenBy(12 * 240, 3_000)).toBe(true);
  });

  test('is 0 where the machine does not count the waiting', () => {
    const samples = samplesOf([{ slept: 5_000, wokeLate: 0, ran: 0, heldUp: 0 }]);
    const blind = samples.map((sample) => ({ ...sample, waitedMs: null, throttledMs: sample.at }));
    expect(freeMs(blind, 0, 5_000)).toBe(0);
  });

  test('is not reduced by the throttling of a quota that other processes use up on several CPUs', () => {
    const samples = samplesOf([{ slept: 3_500, wokeLate: 1_500, ran: 0, heldUp: 0 }]);
    const shared = samples.map((sample) => ({ ...sample, throttledMs: 1.5 * sample.at }));
    expect(freeMs(shared, 0, 5_000)).toBe(3_500);
  });
});

test.each([
  [1_999, 1_000, false],
  [2_000, 1_000, true],
  [2_499, 5_000, false],
  [2_500, 5_000, true],
  [9_999, 45_000, false],
  [10_000, 45_000, true],
])('%d ms free of %d ms: silence is proven: %s', (free, duration, isProven) => {
  expect(isSilenceProvenBy(free, duration)).toBe(isProven);
});

test('a target that answers within half of the time-out, at most 10 s, or within 2 s is never proven silent', () => {
  const steps = fc.array(fc.nat(1_500), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(
      turns,
      steps,
      fc.nat(5_000),
      fc.integer({ min: 1, max: 30_000 }),
      (all, network, from, timeout) => {
        const sleep = sleepOf(all);
        // In each step, the attempt waits for the network and then for the agent.
        const endedAt = network.reduce((at, step) => handledAt(sleep, at + step), from);
        const latency = network.reduce((sum, step) => sum + step, 0);
        const isHealthy = latency < Math.max(2_000, Math.min(10_000, timeout / 2));
        if (isHealthy && endedAt > from + timeout) {
          const to = from + timeout;
          expect(isSilenceProvenBy(freeMs(samplesOf(all), from, to), timeout)).toBe(false);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('a target that answers less than two seconds after its limit is never proven slow', () => {
  const steps = fc.array(fc.nat(1_500), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(turns, steps, fc.nat(5_000), fc.nat(10_000), (all, network, from, degradedAt) => {
      const sleep = sleepOf(all);
      const endedAt = network.reduce((at, step) => handledAt(sleep, at + step), from);
      const latency = network.reduce((sum, step) => sum + step, 0);
      if (latency < degradedAt + 2_000 && Number.isFinite(endedAt)) {
        expect(isSlownessProvenBy(freeMs(samplesOf(all), from, endedAt), degradedAt)).toBe(false);
      }
    }),
    { numRuns: 500 },
  );
});
