import { DISPATCH_COUNTERS, type DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { EAST, FRA, liveMonitor } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { AgentLoad, Backlog } from '../verdict/thinning.ts';
import { Overload } from './overload.ts';

const PERIOD = 30_000;
const OVERLOADED: AgentLoad = { begun: 1_000, late: 300, behind: 300, isStarved: false };

let clock: FakeClock;
let overload: Overload;
let counters: DispatchCounters;
let backlog: Backlog;
let loads: Map<Region, AgentLoad>;
let lines: { msg: string; region?: Region; factor?: number }[];

beforeEach(() => {
  clock = new FakeClock();
  counters = createTotals(DISPATCH_COUNTERS);
  backlog = { events: 0, oldestMs: 0 };
  loads = new Map();
  lines = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
  const loadOf = (region: Region) => loads.get(region) ?? { begun: 0, late: 0, behind: 0, isStarved: false };
  overload = new Overload({
    clock,
    log,
    agents: { loadOf },
    regions: REGIONS,
    counters,
    backlog: () => backlog,
  });
});

/** Lets `seconds` pass, and records a result in each second. */
function pass(seconds: number, during: () => void = () => {}): void {
  for (let second = 0; second < seconds; second += 1) {
    overload.resultRecorded();
    during();
    clock.advance(1_000);
    overload.tick(clock.monotonic());
  }
}

/** How many of 64 slots run by the common factor, and by the factors of two regions. */
function runs(monitor = liveMonitor(1), isFirst = false): { whole: number; fra: number; east: number } {
  const asked = Array.from({ length: 64 }, (_, slot) => ({ slot: slot * PERIOD, isFirst, lateMs: 0 }));
  const count = (isRun: (asking: (typeof asked)[number]) => boolean) => asked.filter(isRun).length;
  return {
    whole: count((asking) => overload.admitsSlot(monitor, asking, 1)),
    fra: count((asking) => overload.admits(monitor, asking, FRA)),
    east: count((asking) => overload.admits(monitor, asking, EAST)),
  };
}

const ALL = { whole: 64, fra: 64, east: 64 };

describe('slots are left out', () => {
  beforeEach(() => overload.declarationChanged(null, liveMonitor(1)));

  test('in a region whose agents refuse checks or begin them seconds late, and in no other', () => {
    loads.set(FRA, OVERLOADED);
    pass(5);
    expect(runs()).toEqual({ ...ALL, fra: 32 });
    pass(4);
    expect(runs()).toEqual({ ...ALL, fra: 16 });
    expect(counters.overloads.region).toBe(1);
    expect(counters.jobsSkipped['region-overloaded']).toBe(32 + 48);
    expect(lines).toMatchObject([
      { region: FRA, factor: 2, msg: expect.stringContaining('agents of a region') },
    ]);
  });

  test('everywhere while the recording lags more and more', () => {
    pass(10, () => {
      backlog = { events: 1, oldestMs: backlog.oldestMs + 1_000 };
    });
    expect(runs()).toEqual({ ...ALL, whole: 32 });
    expect(counters.jobsSkipped['recording-overloaded']).toBe(32);
  });

  /** Lets `seconds` pass. In each second, 30 slots are opened late. */
  const passLate = (seconds: number, ...late: readonly [lateMs: number, less?: number]) => {
    let [lateMs, lessMs = 0] = late;
    pass(seconds, () => {
      lateMs -= lessMs;
      for (let slot = 0; slot < 30; slot += 1)
        overload.admitsSlot(liveMonitor(1), { slot, isFirst: false, lateMs }, 1);
    });
  };

  test('nowhere while a standstill is caught up', () => {
    passLate(9, 14_000, 1_000);
    expect(runs()).toEqual(ALL);
  });

  test('everywhere while slots are opened seconds late', () => {
    passLate(5, 5_100);
    expect(runs()).toEqual({ ...ALL, whole: 32 });
    expect(counters.overloads.scheduling).toBe(1);
  });

  test('nowhere while slots are opened and checks begin somewhat late, as beside other programs', () => {
    loads.set(FRA, { begun: 1_000, late: 1_000, behind: 0, isStarved: false });
    passLate(60, 2_000);
    expect(runs()).toEqual(ALL);
    expect(overload.startWithinMs(FRA)).toBe(Number.POSITIVE_INFINITY);
  });

  test('but never a first slot', () => {
    loads.set(FRA, OVERLOADED);
    pass(30);
    expect(runs(liveMonitor(1), true)).toEqual(ALL);
  });

  test('until ten seconds of calm for each doubling have passed', () => {
    loads.set(FRA, OVERLOADED);
    pass(9);
    loads.clear();
    pass(11);
    expect(runs().fra).toBe(32);
    pass(10);
    expect(runs()).toEqual(ALL);
  });
});

test('a workspace with few checks is not thinned because of one with many', () => {
  for (let id = 1; id <= 10; id += 1) overload.declarationChanged(null, liveMonitor(id));
  overload.declarationChanged(null, liveMonitor(11, { workspaceId: 2 }));
  loads.set(FRA, OVERLOADED);
  pass(9);
  expect([runs(liveMonitor(1)).fra, runs(liveMonitor(11, { workspaceId: 2 })).fra]).toEqual([16, 64]);
  for (let id = 2; id <= 10; id += 1) overload.declarationChanged(liveMonitor(id), null);
  expect(runs(liveMonitor(11, { workspaceId: 2 })).fra).toBe(16);
});

test('while slots are left out, and in the trial after it, checks begin within 250 ms or not at all', () => {
  expect(overload.startWithinMs(FRA)).toBe(Number.POSITIVE_INFINITY);
  loads.set(FRA, OVERLOADED);
  pass(5);
  loads.clear();
  pass(11);
  expect([overload.startWithinMs(FRA), overload.startWithinMs(EAST)]).toEqual([
    250,
    Number.POSITIVE_INFINITY,
  ]);
  pass(10);
  expect(overload.startWithinMs(FRA)).toBe(Number.POSITIVE_INFINITY);
});
