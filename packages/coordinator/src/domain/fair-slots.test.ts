import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evenedAt, fairParts, neededCredit, nextSlot, partsOf } from './fair-slots.ts';

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

describe('slots on the grid and slots that ask early', () => {
  test.each([
    { name: 'many ask early', early: 1_000, usual: 0.45, ofEarly: 0.01 },
    { name: 'few ask early', early: 4, usual: 0.48, ofEarly: 1 },
    { name: 'none asks early', early: 0, usual: 0.5, ofEarly: 1 },
  ])('$name beside twice what is admitted', ({ early, usual, ofEarly }) => {
    const parts = partsOf(100, 200, early);
    expect(parts.usual).toBeCloseTo(usual, 9);
    expect(parts.early).toBeCloseTo(ofEarly, 9);
  });

  test('what those on the grid leave goes to those that ask early', () => {
    expect(partsOf(100, 20, 400)).toEqual({ usual: 1, early: 0.2 });
    const { usual, early } = partsOf(100, 95, 400);
    expect(usual).toBeCloseTo(90 / 95, 9);
    expect(early).toBeCloseTo(10 / 400, 9);
  });
});

describe('whose slots run', () => {
  const PERIOD_MS = 30_000;
  const ROUNDS = 60;

  /** Monitors with one period, by their instants in it. @returns for each, the rounds in which its slot ran */
  function runsOf(phases: readonly number[], partAt: (ms: number) => number): number[][] {
    const runs: number[][] = phases.map(() => []);
    const credits = phases.map((_, index) => (index * 0.618) % 1);
    const due = phases.map((phase, monitor) => ({ phase, monitor })).sort((a, b) => a.phase - b.phase);
    let evenness = { left: 0, at: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { phase, monitor } of due) {
        const now = round * PERIOD_MS + phase;
        const part = partAt(now);
        const perMs = (part * phases.length) / PERIOD_MS;
        evenness = evenedAt(evenness, now, perMs, 1);
        const needed = neededCredit(evenness, perMs, 1);
        const { isAdmitted, credit } = nextSlot(credits[monitor] ?? 0, part, needed);
        credits[monitor] = credit;
        if (!isAdmitted) continue;
        evenness = { ...evenness, left: evenness.left - 1 };
        runs[monitor]?.push(round);
      }
    }
    return runs;
  }

  /** A hash spreads phases evenly: no small numbers are preferred. */
  const some = fc.array(fc.noBias(fc.nat({ max: PERIOD_MS - 1 })), { minLength: 20, maxLength: 300 });
  const spread = (count: number) =>
    Array.from({ length: count }, (_, index) => Math.floor((index * PERIOD_MS) / count));
  const counts = fc.integer({ min: 20, max: 300 });
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
        expect(Math.abs(ran / part - 1)).toBeLessThanOrEqual(0.1);
        expect(longestGap).toBeLessThanOrEqual(Math.ceil(1 / part) + 2);
        expect(difference).toBeLessThanOrEqual(3);
      }),
    );
  });

  test('as many as may, also while the part is halved for some seconds again and again', () => {
    fc.assert(
      fc.property(counts.map(spread), someParts, fc.integer({ min: 7, max: 40 }), (phases, part, everyS) => {
        const partAt = (ms: number) => (ms % (everyS * 1_000) < 3_000 ? part / 2 : part);
        const usual = (part * (everyS - 1.5)) / everyS;
        const { part: ran, longestGap } = figuresOf(runsOf(phases, partAt));
        expect(ran).toBeGreaterThanOrEqual(usual * 0.9);
        expect(longestGap).toBeLessThanOrEqual(2 * Math.ceil(1 / usual) + 2);
      }),
    );
  });

  test('no more and no less than may, in every five seconds, however the part has changed before', () => {
    const SPAN_MS = 5_000;
    const steps = fc.array(someParts, { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 3, max: 60 }), (parts, everyS) => {
        const partAt = (ms: number) => parts[Math.floor(ms / 1_000 / everyS) % parts.length] as number;
        const phases = spread(1_200);
        const ran = new Map<number, number>();
        runsOf(phases, partAt).forEach((rounds, monitor) => {
          for (const round of rounds) {
            const span = Math.floor((round * PERIOD_MS + (phases[monitor] ?? 0)) / SPAN_MS);
            ran.set(span, (ran.get(span) ?? 0) + 1);
          }
        });
        for (let span = 0; span < (ROUNDS * PERIOD_MS) / SPAN_MS; span += 1) {
          let may = 0;
          for (let ms = 0; ms < SPAN_MS; ms += 100) may += partAt(span * SPAN_MS + ms) / (SPAN_MS / 100);
          const slots = (phases.length * SPAN_MS) / PERIOD_MS;
          // Slots that are evened over lie in the span before or after.
          expect(Math.abs((ran.get(span) ?? 0) - may * slots)).toBeLessThanOrEqual(35);
        }
      }),
      { numRuns: 20 },
    );
  });
});

test('a slot before the newest changes nothing about the evenness', () => {
  expect(evenedAt({ left: 3, at: 1_000 }, 900, 0.5, 1)).toEqual({ left: 3, at: 1_000 });
});

test.each([
  { left: 0, needed: 1 },
  { left: 100, needed: 0.85 },
  { left: -100, needed: 1.15 },
  { left: 1_000, needed: 0.7 },
  { left: -400, needed: 1.6 },
  { left: -2_000, needed: 2.2 },
])('$left jobs left of 200: a slot needs a credit of $needed', ({ left, needed }) => {
  expect(neededCredit({ left, at: 0 }, 1, 1)).toBeCloseTo(needed, 6);
});

test('what a monitor was refused for longer than two slots is lost', () => {
  let credit = 0;
  for (let slot = 0; slot < 50; slot += 1) {
    const next = nextSlot(credit, 0.9, Number.POSITIVE_INFINITY);
    expect(next.isAdmitted).toBe(false);
    credit = next.credit;
  }
  expect(credit).toBeCloseTo(2.2);
});

test('a slot that runs elsewhere needs less', () => {
  expect(nextSlot(0.2, 0.4, 1).isAdmitted).toBe(false);
  expect(nextSlot(0.2, 0.4, 1, 1).isAdmitted).toBe(true);
  expect(nextSlot(0.2, 0.8, 1, -1).isAdmitted).toBe(false);
});
