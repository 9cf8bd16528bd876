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
      if (gate.admits(id, workspaceId, { slot, jobs, isInTime: true })) runs.set(id, (runs.get(id) ?? 0) + 1);
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
