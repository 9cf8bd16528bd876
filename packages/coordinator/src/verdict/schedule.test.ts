import { PERIODICITIES, periodMs } from '@svc/shared/periodicity.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  dueSlot,
  FINEST_PERIOD_MS,
  gridSlotFrom,
  gridSlotUntil,
  isOnGrid,
  phaseOf,
  SLOT_STEP_MS,
  slotAfter,
  slotAfterRestart,
} from './schedule.ts';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 1);
const periods = fc.constantFrom(30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000);
const ids = fc.integer({ min: 1, max: 10_000_000 });
const instants = fc.integer({ min: NOW, max: NOW + 365 * 24 * 60 * MINUTE });

describe('the grid', () => {
  test.each([
    { instant: 0, from: 20, until: -80 },
    { instant: 20, from: 20, until: 20 },
    { instant: 21, from: 120, until: 20 },
    { instant: 119, from: 120, until: 20 },
    { instant: 120, from: 120, until: 120 },
  ])(
    'period 100, phase 20: at $instant the next slot is $from, the last $until',
    ({ instant, from, until }) => {
      expect(gridSlotFrom(instant, 100, 20)).toBe(from);
      expect(gridSlotUntil(instant, 100, 20)).toBe(until);
    },
  );

  test('every span of one period has exactly one slot, wherever it begins', () => {
    fc.assert(
      fc.property(ids, periods, instants, (id, period, instant) => {
        const phase = phaseOf(id, period);
        const slot = gridSlotFrom(instant, period, phase);
        expect(slot).toBeGreaterThanOrEqual(instant);
        expect(slot).toBeLessThan(instant + period);
        expect(gridSlotFrom(slot + 1, period, phase)).toBe(slot + period);
        expect(Number.isInteger(slot)).toBe(true);
      }),
    );
  });

  test('phases lie inside the period and depend only on the id', () => {
    fc.assert(
      fc.property(ids, periods, (id, period) => {
        const phase = phaseOf(id, period);
        expect(phase).toBe(phaseOf(id, period));
        expect(phase).toBeGreaterThanOrEqual(0);
        expect(phase).toBeLessThan(period);
        expect(phase % SLOT_STEP_MS).toBe(0);
      }),
    );
  });

  test('a slot of any period lies on the grids of all periods that divide it, so that results are found again', () => {
    for (const [index, periodicity] of PERIODICITIES.entries()) {
      expect(periodMs(periodicity) % periodMs(PERIODICITIES[Math.max(0, index - 1)] ?? '30s')).toBe(0);
    }
    fc.assert(
      fc.property(ids, fc.constantFrom(...PERIODICITIES), instants, (id, periodicity, instant) => {
        const period = periodMs(periodicity);
        const slot = gridSlotFrom(instant, period, phaseOf(id, period));
        expect(isOnGrid(id, slot, period)).toBe(true);
        expect(isOnGrid(id, slot, FINEST_PERIOD_MS)).toBe(true);
        expect(isOnGrid(id, slot + 1, FINEST_PERIOD_MS)).toBe(false);
        for (const shorter of PERIODICITIES.slice(0, PERIODICITIES.indexOf(periodicity))) {
          expect(isOnGrid(id, slot, periodMs(shorter))).toBe(true);
        }
      }),
    );
  });

  test('a thousand monitors spread over the minute: no second gets more than three times its share', () => {
    const seconds = new Array<number>(60).fill(0);
    for (let id = 1; id <= 1_000; id += 1) {
      const second = Math.floor(phaseOf(id, MINUTE) / 1_000);
      seconds[second] = (seconds[second] ?? 0) + 1;
    }
    expect(Math.max(...seconds)).toBeLessThan(50);
    expect(Math.min(...seconds)).toBeGreaterThan(3);
  });
});

describe('after a slot', () => {
  test.each([
    { name: 'on the grid: one period later', previous: 20, next: 120 },
    { name: 'off the grid, more than half a period before the next: that one', previous: 60, next: 120 },
    { name: 'off the grid, exactly half a period before it: that one', previous: 70, next: 120 },
    { name: 'off the grid, shortly before it: the one after it', previous: 71, next: 220 },
  ])('$name', ({ previous, next }) => {
    expect(slotAfter(previous, 100, 20)).toBe(next);
  });

  test('slots are never closer than half a period and never further than one and a half', () => {
    fc.assert(
      fc.property(ids, periods, instants, (id, period, first) => {
        const phase = phaseOf(id, period);
        const second = slotAfter(first, period, phase);
        expect(second - first).toBeGreaterThanOrEqual(period / 2);
        expect(second - first).toBeLessThanOrEqual(1.5 * period);
        expect(slotAfter(second, period, phase)).toBe(second + period);
      }),
    );
  });
});

describe('a slot that has come', () => {
  test.each([
    { name: 'in time', dueAt: 120, now: 121, expected: { is: 'due', slot: 120 } },
    { name: 'late by less than half a period', dueAt: 120, now: 169, expected: { is: 'due', slot: 120 } },
    { name: 'late by half a period', dueAt: 120, now: 170, expected: { is: 'missed', next: 220 } },
    { name: 'several missed: only the newest', dueAt: 120, now: 450, expected: { is: 'due', slot: 420 } },
    {
      name: 'several missed, the newest too old',
      dueAt: 120,
      now: 480,
      expected: { is: 'missed', next: 520 },
    },
    { name: 'off the grid', dueAt: 90, now: 100, expected: { is: 'due', slot: 90 } },
  ] as const)('$name', ({ dueAt, now, expected }) => {
    expect(dueSlot(dueAt, now, 100, 20)).toEqual(expected);
  });
});

describe('after a restart', () => {
  test.each([
    { name: 'nothing was missed', newest: 120, now: 200, slot: 220 },
    { name: 'the missed slot is young: it runs', newest: 120, now: 240, slot: 220 },
    { name: 'the missed slot is old: the next', newest: 120, now: 280, slot: 320 },
    { name: 'a day later: only the newest', newest: 120, now: 100_030, slot: 100_020 },
    { name: 'the newest slot is now', newest: 220, now: 220, slot: 320 },
    { name: 'a first slot off the grid was the newest', newest: 110, now: 130, slot: 220 },
  ])('$name', ({ newest, now, slot }) => {
    expect(slotAfterRestart(newest, now, 100, 20)).toBe(slot);
  });
});

/** Runs a monitor through `instants` with restarts, as the scheduler does. Returns the slots that ran. */
function run(
  id: number,
  period: number,
  first: number,
  steps: { at: number; restarts: boolean }[],
): number[] {
  const phase = phaseOf(id, period);
  const slots: number[] = [];
  let dueAt = first;
  for (const { at, restarts } of steps) {
    const newest = slots.at(-1);
    if (restarts && newest !== undefined) dueAt = slotAfterRestart(newest, at, period, phase);
    while (dueAt <= at) {
      const due = dueSlot(dueAt, at, period, phase);
      if (due.is === 'due') {
        slots.push(due.slot);
        dueAt = slotAfter(due.slot, period, phase);
      } else {
        dueAt = due.next;
      }
    }
  }
  return slots;
}

test('over standstills and restarts, no slot runs twice, and no two lie closer than half a period', () => {
  const step = fc.record({ after: fc.integer({ min: 1, max: 4 * 3_600_000 }), restarts: fc.boolean() });
  fc.assert(
    fc.property(ids, periods, instants, fc.array(step, { maxLength: 60 }), (id, period, first, steps) => {
      let at = first;
      const slots = run(
        id,
        period,
        first,
        steps.map(({ after, restarts }) => {
          at += after;
          return { at, restarts };
        }),
      );
      for (let index = 1; index < slots.length; index += 1) {
        const gap = (slots[index] ?? 0) - (slots[index - 1] ?? 0);
        expect(gap).toBeGreaterThanOrEqual(period / 2);
      }
    }),
  );
});

test('without a standstill, one slot runs in every period', () => {
  fc.assert(
    fc.property(ids, fc.constantFrom(30_000, 60_000), instants, (id, period, first) => {
      const steps = Array.from({ length: 200 }, (_, index) => ({
        at: first + index * 3_000,
        restarts: false,
      }));
      const slots = run(id, period, first, steps);
      const grid = slots.slice(1);
      for (const slot of grid) expect(slot % period).toBe(phaseOf(id, period));
      for (let index = 1; index < grid.length; index += 1) {
        expect((grid[index] ?? 0) - (grid[index - 1] ?? 0)).toBe(period);
      }
      expect(slots.length).toBeGreaterThanOrEqual(Math.floor((199 * 3_000) / period));
    }),
  );
});
