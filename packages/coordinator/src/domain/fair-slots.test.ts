import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evenedAt, fairParts, neededWait, nextSlot, usualPartAfter } from './fair-slots.ts';

describe('who is admitted', () => {
  const workspaces = fc
    .array(fc.double({ min: 0.01, max: 5_000, noNaN: true }), { minLength: 1, maxLength: 30 })
    .map((rates) => new Map(rates.map((rate, index) => [index + 1, rate])));

  test('a small workspace loses nothing beside one with ten times the monitors', () => {
    expect(
      fairParts(
        new Map([
          [1, 1_000],
          [2, 100],
        ]),
        600,
      ),
    ).toEqual(new Map([[1, 0.5]]));
  });

  test('the limit is used up, and nobody gets more while another with less is cut', () => {
    fc.assert(
      fc.property(workspaces, fc.double({ min: 1, max: 20_000, noNaN: true }), (asked, perSecond) => {
        const parts = fairParts(asked, perSecond);
        const given = [...asked].map(([id, rate]) => rate * (parts.get(id) ?? 1));
        const all = [...asked.values()].reduce((sum, rate) => sum + rate, 0);
        expect(given.reduce((sum, rate) => sum + rate, 0)).toBeCloseTo(Math.min(all, perSecond), 3);
        const cutAt = [...asked].filter(([id]) => parts.has(id)).map(([id, r]) => r * (parts.get(id) ?? 1));
        for (const rate of cutAt) expect(rate).toBeGreaterThanOrEqual(Math.max(...given) - 1e-6);
      }),
    );
  });
});

describe('whose slots run', () => {
  const PERIOD_MS = 30_000;
  const ROUNDS = 60;

  /** Monitors with one period, by their instants in it. @returns for each, the rounds in which its slot ran */
  function runsOf(phases: readonly number[], partAt: (ms: number) => number): number[][] {
    const runs: number[][] = phases.map(() => []);
    const accounts = phases.map((_, index) => ({ waited: ((index * 0.618) % 1) / partAt(0), owed: 0 }));
    const due = phases.map((phase, monitor) => ({ phase, monitor })).sort((a, b) => a.phase - b.phase);
    let evenness = { left: 0, at: 0 };
    let usualPart = partAt(0);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { phase, monitor } of due) {
        const now = round * PERIOD_MS + phase;
        const part = partAt(now);
        usualPart = usualPartAfter(usualPart, part, Math.max(0, now - evenness.at));
        const flow = { part, usualPart, perMs: (part * phases.length) / PERIOD_MS };
        evenness = evenedAt(evenness, now, flow.perMs, 1);
        const before = accounts[monitor] ?? { waited: 0, owed: 0 };
        const { isAdmitted, account } = nextSlot(before, neededWait(evenness, flow, 1), usualPart);
        accounts[monitor] = account;
        if (!isAdmitted) continue;
        evenness = { ...evenness, left: evenness.left - 1 };
        runs[monitor]?.push(round);
      }
    }
    return runs;
  }

  /** A hash spreads phases evenly: no small numbers are preferred. */
  const some = fc.array(fc.noBias(fc.nat({ max: PERIOD_MS - 1 })), { minLength: 20, maxLength: 300 });
  const spread = fc
    .integer({ min: 20, max: 300 })
    .map((count) => Array.from({ length: count }, (_, index) => Math.floor((index * PERIOD_MS) / count)));
  const someParts = fc.double({ min: 0.15, max: 0.95, noNaN: true });

  function figuresOf(runs: readonly (readonly number[])[]) {
    const counts = runs.map(({ length }) => length);
    const gaps = runs.flatMap((each) => each.slice(1).map((round, index) => round - (each[index] ?? 0)));
    return {
      part: counts.reduce((sum, count) => sum + count, 0) / (ROUNDS * runs.length),
      longestGap: Math.max(...gaps),
      difference: Math.max(...counts) - Math.min(...counts),
    };
  }

  test('as many as may, monitors alike, and none waits for much longer than usual', () => {
    fc.assert(
      fc.property(some, someParts, (phases, part) => {
        const { part: ran, longestGap, difference } = figuresOf(runsOf(phases, () => part));
        // In 60,000 tries: 0.066, 2 and 5.
        expect(Math.abs(ran / part - 1)).toBeLessThanOrEqual(0.1);
        expect(longestGap).toBeLessThanOrEqual(Math.ceil(1 / part) + 3);
        expect(difference).toBeLessThanOrEqual(ROUNDS / 8);
      }),
    );
  });

  test('monitors at a few instants lose alike too', () => {
    const few = fc.array(fc.nat({ max: PERIOD_MS - 1 }), { minLength: 2, maxLength: 6 });
    const instants = few.chain((some) =>
      fc.array(fc.constantFrom(...some), { minLength: 20, maxLength: 200 }),
    );
    fc.assert(
      fc.property(instants, someParts, (phases, part) => {
        expect(figuresOf(runsOf(phases, () => part)).difference).toBeLessThanOrEqual(ROUNDS / 4);
      }),
    );
  });

  test('as many as may, also while the part is halved for some seconds again and again', () => {
    fc.assert(
      fc.property(spread, someParts, fc.integer({ min: 7, max: 40 }), (phases, part, everyS) => {
        const partAt = (ms: number) => (ms % (everyS * 1_000) < 3_000 ? part / 2 : part);
        const usual = (part * (everyS - 1.5)) / everyS;
        const { part: ran, longestGap } = figuresOf(runsOf(phases, partAt));
        // In 60,000 tries: 0.908, and 1.
        expect(ran).toBeGreaterThanOrEqual(usual * 0.88);
        expect(longestGap).toBeLessThanOrEqual(2 * Math.ceil(1 / usual) + 2);
      }),
    );
  });
});

test('a slot before the newest changes nothing about the evenness', () => {
  expect(evenedAt({ left: 3, at: 1_000 }, 900, 0.5, 1)).toEqual({ left: 3, at: 1_000 });
});

test.each([
  { left: 0, part: 0.5, usualPart: 0.5, needed: 2 },
  { left: -1_000, part: 0.5, usualPart: 0.5, needed: 2.7 },
  { left: 1_000, part: 0.5, usualPart: 0.5, needed: 1 },
  { left: 0, part: 0.25, usualPart: 0.5, needed: 2.7 },
  { left: -1_000, part: 0.25, usualPart: 0.25, needed: 4.7 },
  { left: 1_000, part: 0.25, usualPart: 0.5, needed: 1 },
])(
  '$left jobs left of a part of $part, usually $usualPart: a slot runs after $needed',
  ({ left, needed, ...parts }) => {
    expect(neededWait({ left, at: 0 }, { ...parts, perMs: 1 }, 1)).toBeCloseTo(needed, 6);
  },
);
