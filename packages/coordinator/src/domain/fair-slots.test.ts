import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { earn, evenedAt, fairParts, neededCredit } from './fair-slots.ts';

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

  test('of monitors with the same period none loses more than three slots more than another', () => {
    const credits = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 2, maxLength: 10 });
    const parts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 10, maxLength: 400 });
    fc.assert(
      fc.property(credits, parts, fc.boolean(), (starts, all, isPeriodic) => {
        // A period of ten steps, and each monitor at a step of its own: also where the part follows the period.
        const partAt = (step: number) => all[isPeriodic ? step % 10 : step] ?? 1;
        const skipped = starts.map((credit, offset) => {
          let before = { credit, part: partAt(offset) };
          let count = 0;
          for (let step = offset; step + 10 <= all.length; step += 10) {
            const since = Array.from({ length: 10 }, (_, back) => partAt(Math.max(offset, step - back)));
            const average = since.reduce((sum, part) => sum + part, 0) / since.length;
            const { isAdmitted, credit: left } = earn(before, partAt(step), average);
            before = { credit: left, part: partAt(step) };
            if (!isAdmitted) count += 1;
          }
          return { count, slots: Math.floor((all.length - offset) / 10) };
        });
        const least = Math.min(...skipped.map(({ slots }) => slots));
        const comparable = skipped.filter(({ slots }) => slots === least).map(({ count }) => count);
        expect(Math.max(...comparable) - Math.min(...comparable)).toBeLessThanOrEqual(3);
      }),
    );
  });
});

describe('admitted slots are evened', () => {
  test('less credit is needed where less was admitted than may be, and more where more was', () => {
    const atFirst = evenedAt({ left: 0, at: 0 }, 1_000, 0.5);
    expect(atFirst).toEqual({ left: 200, at: 1_000 });
    expect(neededCredit(atFirst, 0.5)).toBe(0.8);
    expect(neededCredit({ left: 0, at: 0 }, 0.5)).toBe(1);
    expect(neededCredit({ left: -20, at: 0 }, 0.5)).toBe(1.1);
    expect(neededCredit({ left: -2_000, at: 0 }, 0.5)).toBe(1.2);
  });

  test('a slot before the newest changes nothing', () => {
    expect(evenedAt({ left: 3, at: 1_000 }, 900, 0.5)).toEqual({ left: 3, at: 1_000 });
  });

  test('monitors that have all earned their slot at once do not run at once', () => {
    const perMs = 0.1;
    let evenness = { left: 0, at: 0 };
    let admitted = 0;
    for (let slot = 0; slot < 1_000; slot += 1) {
      evenness = evenedAt(evenness, slot, perMs);
      if (!earn({ credit: 0.75, part: 0.3 }, 0.3, 0.3, neededCredit(evenness, perMs)).isAdmitted) continue;
      evenness = { ...evenness, left: evenness.left - 1 };
      admitted += 1;
    }
    expect(admitted).toBeLessThan(150);
  });
});
