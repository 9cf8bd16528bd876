import { appendTo } from '@svc/shared/lists-by-key.ts';
import { describe, expect, test } from 'vitest';
import { phaseOf } from '../domain/schedule.ts';
import { Gate } from './gate.ts';

const PERIOD_MS = 30_000;
const ROUNDS = 40;
const BEGIN = 1_700_000_010_000;

type Asking = { readonly id: number; readonly workspaceId: number; readonly jobs: number };

/** What a closed gate admits of these monitors, all with one period. @returns for each, the part of its slots that ran */
function partsOf(monitors: readonly Asking[], admittedPerSecond: number): Map<number, number> {
  const gate = new Gate();
  const asked = new Map<number, number>();
  for (const { workspaceId, jobs } of monitors)
    asked.set(workspaceId, (asked.get(workspaceId) ?? 0) + (jobs * 1_000) / PERIOD_MS);
  // Half of what is done is admitted at first.
  gate.step(
    { pressure: 'overloaded', waits: 'little', donePerSecond: admittedPerSecond * 2 },
    () => asked,
    500,
  );
  expect(gate.perSecond).toBeCloseTo(admittedPerSecond, 6);
  const phases = monitors.map((monitor) => ({ monitor, phase: phaseOf(monitor.id, PERIOD_MS) }));
  phases.sort((a, b) => a.phase - b.phase);
  const runs = new Map<number, number>(monitors.map(({ id }) => [id, 0]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { monitor, phase } of phases) {
      const { id, workspaceId, jobs } = monitor;
      const slot = BEGIN + round * PERIOD_MS + phase;
      if (gate.admits(id, workspaceId, { slot, jobs, ofPeriod: 1, isInTime: true }))
        runs.set(id, (runs.get(id) ?? 0) + 1);
    }
  }
  return new Map([...runs].map(([id, count]) => [id, count / ROUNDS]));
}

describe('the monitors of a workspace run alike', () => {
  const mixed = (large: number, small: number): Asking[] =>
    Array.from({ length: large + small }, (_, index) => ({
      id: index + 1,
      workspaceId: 1,
      jobs: index < large ? 28 : 1,
    }));

  test.each([
    { large: 100, small: 100, perSecond: 50 },
    { large: 5, small: 3_000, perSecond: 50 },
    { large: 1_000, small: 1_000, perSecond: 300 },
  ])(
    '$large in 28 regions and $small in one, of which $perSecond jobs a second are admitted',
    ({ large, small, perSecond }) => {
      const monitors = mixed(large, small);
      const parts = partsOf(monitors, perSecond);
      const jobs = monitors.reduce((sum, each) => sum + each.jobs * (parts.get(each.id) ?? 0), 0);
      expect((jobs * 1_000) / PERIOD_MS / perSecond).toBeGreaterThanOrEqual(0.9);
      expect((jobs * 1_000) / PERIOD_MS / perSecond).toBeLessThanOrEqual(1.05);
      expect(Math.max(...parts.values()) - Math.min(...parts.values())).toBeLessThanOrEqual(0.15);
    },
  );

  // Fifty jobs a second are always admitted. Some instants have eight slots.
  test.each([1_575, 1_800, 2_250, 3_000])(
    '%i in one region, of which 50 a second are admitted: none starves at a crowded instant',
    (small) => {
      const parts = partsOf(mixed(0, small), 50);
      const usual = (50 * PERIOD_MS) / 1_000 / small;
      expect(Math.min(...parts.values())).toBeGreaterThanOrEqual(usual * 0.6);
      const admitted = [...parts.values()].reduce((sum, part) => sum + part, 0);
      expect(admitted / (small * usual)).toBeGreaterThanOrEqual(0.95);
      expect(admitted / (small * usual)).toBeLessThanOrEqual(1.01);
    },
  );
});

test('skipped first slots ask again soon, and no more run than may', () => {
  const perSecond = 60;
  const hourly = { count: 18_000, periodMs: 3_600_000 };
  const often = { count: 6_000, periodMs: PERIOD_MS };
  const gate = new Gate();
  const asked = new Map([
    [1, [hourly, often].reduce((sum, each) => sum + each.count / each.periodMs, 0) * 1_000],
  ]);
  // It begins late whatever is admitted, and this much is done: the limit stays where it is.
  const step = () =>
    gate.step({ pressure: 'late', waits: 'little', donePerSecond: perSecond / 0.88 }, () => asked, 500);
  step();
  expect(gate.perSecond).toBeCloseTo(perSecond, 6);
  const monitors = [
    ...Array.from({ length: often.count }, (_, index) => ({
      id: index + 1,
      dueAt: phaseOf(index + 1, PERIOD_MS),
    })),
    // Declared at once, after two periods: 500 first slots a second.
    ...Array.from({ length: hourly.count }, (_, index) => ({
      id: often.count + index + 1,
      dueAt: 2 * PERIOD_MS + 2 * index,
    })),
  ];
  const byTick = Map.groupBy(monitors, ({ dueAt }) => Math.floor(dueAt / 500));
  const ran: number[] = [];
  for (let tick = 0; tick < 1_600; tick += 1) {
    const due = byTick.get(tick) ?? [];
    for (const monitor of due.toSorted((a, b) => a.dueAt - b.dueAt)) {
      const { id, dueAt } = monitor;
      const isFirst = id > often.count;
      const ofPeriod = isFirst ? PERIOD_MS / hourly.periodMs : 1;
      const isAdmitted = gate.admits(id, 1, { slot: BEGIN + dueAt, jobs: 1, ofPeriod, isInTime: true });
      const period = Math.floor(dueAt / PERIOD_MS);
      if (isAdmitted) ran[period] = (ran[period] ?? 0) + 1;
      // The hour of those that have run ends after this test.
      if (isFirst && isAdmitted) continue;
      monitor.dueAt = dueAt + PERIOD_MS;
      const next = Math.floor(monitor.dueAt / 500);
      appendTo(byTick, next, monitor);
    }
    byTick.delete(tick);
    step();
  }
  const rates = ran.slice(1, -1).map((count) => (count * 1_000) / PERIOD_MS);
  expect(Math.max(...rates)).toBeLessThanOrEqual(perSecond * 1.5);
  expect(Math.min(...rates)).toBeGreaterThanOrEqual(perSecond * 0.95);
});
