import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { CheckResult, Outcome } from '@svc/shared/messages/check-result.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Announcement, Now, Told, Transition } from '../told.ts';
import { Oracle } from './oracle.ts';

const [FRA, PAR, EAST] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;
const PERIOD = 30_000;
const BEGIN = 1_800_000_000_000;

let oracle: Oracle;
let clock: number;
let status: MonitorStatus;

const now = (): Now => ({ monotonic: clock, slot: BEGIN + clock, age: clock });
const kinds = () => oracle.violations.map(({ kind }) => kind);

beforeEach(() => {
  clock = 0;
  status = 'unknown';
  oracle = new Oracle({ electable: () => new Set(REGIONS) }, { isTargetFine: false });
  look({ is: 'declared', before: null, after: monitor() });
});

function monitor(): LiveMonitor {
  return {
    id: 1,
    workspaceId: 1,
    type: 'http',
    name: 'Monitor',
    target: '',
    active: true,
    periodMs: PERIOD,
    regions: [FRA, PAR, EAST],
    version: 1,
    quorum: 'majority',
    confirmAfter: 1,
    recoverAfter: 1,
    degradedAtMs: 0,
    longestCheckMs: 181_000,
    activatedAt: 0,
    checkText: new Secret('{}'),
    declaredExport: null,
  };
}

/** Shows the oracle an input of the service, which keeps its status. */
function look(told: Told | null, announcements: Announcement[] = []): void {
  if (told?.is === 'reported') oracle.read(told.result, now());
  oracle.look(told === null ? [] : [told], { status, transitions: [], announcements }, now());
}

/** Shows the oracle an input of the service, and a change to this status. */
function change(told: Told, to: MonitorStatus, announcements: Announcement[] = []): void {
  const transition = { from: status, to, reason: 'test', at: BEGIN + clock };
  status = to;
  if (told.is === 'reported') oracle.read(told.result, now());
  oracle.look([told], { status, transitions: [transition], announcements }, now());
}

function opened(slot: number, regions: readonly Region[] = [FRA, PAR, EAST]): Told {
  return { is: 'opened', slot: BEGIN + slot, version: 1, regions };
}

function reported(slot: number, region: Region, outcome: Outcome): Told {
  const result: CheckResult = {
    monitor: 1,
    version: 1,
    slot: BEGIN + slot,
    token: '',
    outcome,
    started_at: 0,
    attempts: [{ outcome, started_ms: 0, latency: 40 }],
  };
  return { is: 'reported', region, result, isOfferedAgain: false };
}

/** Shows the oracle a slot in which all regions pass. */
function goodSlot(slot: number): void {
  clock = slot;
  look(opened(slot));
  look(reported(slot, FRA, 'passed'));
  if (status === 'active') look(reported(slot, PAR, 'passed'));
  else change(reported(slot, PAR, 'passed'), 'active');
  look(reported(slot, EAST, 'passed'));
}

describe('the oracle finds', () => {
  test('nothing where all is well', () => {
    goodSlot(0);
    goodSlot(PERIOD);
    expect(kinds()).toEqual([]);
  });

  test('an outage that late reports confirm and nobody announces', () => {
    goodSlot(0);
    clock = PERIOD;
    look(opened(PERIOD));
    for (const region of [FRA, PAR, EAST]) {
      look({ is: 'excused', slot: BEGIN + PERIOD, version: 1, region });
    }
    clock = PERIOD + 20_000;
    look(reported(PERIOD, FRA, 'failed'));
    look(reported(PERIOD, PAR, 'failed'));
    clock += 1_001;
    look(null);
    expect(kinds()).toContain('unannounced');
  });

  test('nothing where such an outage is announced within a second', () => {
    goodSlot(0);
    clock = PERIOD;
    look(opened(PERIOD));
    look(reported(PERIOD, FRA, 'failed'));
    change(reported(PERIOD, PAR, 'failed'), 'error');
    clock += 1_001;
    look(null);
    expect(kinds()).toEqual([]);
    expect(oracle.confirmed.confirmed).toBe(1);
  });

  test.each(['passed', 'failed'] as const)(
    'nothing where late failures come after a slot that %s while several were needed',
    (outcome) => {
      const several = { ...monitor(), confirmAfter: 2 };
      look({ is: 'declared', before: monitor(), after: several });
      goodSlot(0);
      clock = PERIOD;
      look(opened(PERIOD));
      for (const region of [FRA, PAR, EAST]) {
        look({ is: 'excused', slot: BEGIN + PERIOD, version: 1, region });
      }
      clock = 2 * PERIOD;
      look(opened(clock));
      for (const region of [FRA, PAR, EAST]) look(reported(clock, region, outcome));
      look({ is: 'declared', before: several, after: monitor() });
      look(reported(PERIOD, FRA, 'failed'));
      look(reported(PERIOD, PAR, 'failed'));
      clock += 1_001;
      look(null);
      expect(kinds()).toEqual([]);
    },
  );

  test('an error that no majority made', () => {
    goodSlot(0);
    clock = PERIOD;
    look(opened(PERIOD));
    change(reported(PERIOD, FRA, 'failed'), 'error');
    expect(kinds()).toContain('unfounded');
  });

  test('an error of failures that never coincided', () => {
    goodSlot(0);
    clock = PERIOD;
    look(opened(PERIOD));
    look(reported(PERIOD, PAR, 'passed'));
    look(reported(PERIOD, EAST, 'passed'));
    look(reported(PERIOD, FRA, 'failed'));
    clock = 2 * PERIOD;
    look(opened(2 * PERIOD));
    look(reported(2 * PERIOD, FRA, 'not_run'));
    look(reported(2 * PERIOD, PAR, 'failed'));
    change(reported(2 * PERIOD, EAST, 'passed'), 'error');
    expect(kinds()).toContain('unfounded');
  });

  test('a slot that waits although a second `not_run` has answered it', () => {
    clock = 0;
    look(opened(0));
    look(reported(0, FRA, 'passed'));
    look({ ...reported(0, PAR, 'not_run'), isOfferedAgain: true } as Told);
    look(reported(0, EAST, 'failed'));
    look(reported(0, PAR, 'not_run'));
    clock += 1_001;
    look(null);
    expect(kinds()).toEqual(['late']);
  });

  test('a status that stands on votes that have aged', () => {
    goodSlot(0);
    clock = 10 * PERIOD;
    look(opened(10 * PERIOD));
    expect(kinds()).toEqual(['late']);
  });

  test('nothing where regions that came while nothing ran are excused from a slot of before', () => {
    look(opened(0, [FRA]));
    change(reported(0, FRA, 'passed'), 'active');
    clock = PERIOD;
    oracle.ended({ now: now(), moment: oracle.moment(now()) });
    clock += 20_000;
    oracle.started(now(), false);
    look(reported(PERIOD, FRA, 'passed'));
    for (const region of [PAR, EAST]) look({ is: 'excused', slot: BEGIN + PERIOD, version: 1, region });
    look({ is: 'all-resumed' });
    clock += 10_000;
    look(null);
    expect(kinds()).toEqual([]);
  });

  test('nothing where a slot that was given ahead is decided one period after it', () => {
    look(opened(2_000, [FRA, PAR]));
    clock = 2_100;
    look(reported(2_000, FRA, 'failed'));
    clock = PERIOD + 1_900;
    look(null);
    expect(kinds()).toEqual([]);
  });

  test('a status that a removal of regions makes and the open slot takes back at once', () => {
    clock = 0;
    look(opened(0));
    look(reported(0, FRA, 'passed'));
    change(reported(0, PAR, 'passed'), 'active');
    look(reported(0, EAST, 'not_run'));
    clock = PERIOD;
    look(opened(PERIOD));
    look(reported(PERIOD, PAR, 'failed'));
    look(reported(PERIOD, EAST, 'passed'));
    const declared: Told = { is: 'declared', before: monitor(), after: { ...monitor(), regions: [EAST] } };
    const between = { reason: 'test', at: BEGIN + clock };
    const transitions: Transition[] = [
      { ...between, from: 'active', to: 'unknown' },
      { ...between, from: 'unknown', to: 'active' },
    ];
    oracle.look([declared], { status, transitions, announcements: [] }, now());
    expect(kinds()).toEqual(['unfounded']);
  });

  test('a channel that is told twice', () => {
    look({ is: 'linked', channel: 1, kind: 'webhook' });
    goodSlot(0);
    clock = PERIOD;
    look(opened(PERIOD));
    look(reported(PERIOD, FRA, 'failed'));
    const told: Announcement = { channel: 1, status: 'error', isClosure: false };
    change(reported(PERIOD, PAR, 'failed'), 'error', [told, told]);
    expect(kinds()).toEqual(['announcement']);
  });

  test('a channel that is not told', () => {
    look({ is: 'linked', channel: 1, kind: 'webhook' });
    goodSlot(0);
    clock = PERIOD;
    look(opened(PERIOD));
    look(reported(PERIOD, FRA, 'failed'));
    change(reported(PERIOD, PAR, 'failed'), 'error');
    expect(kinds()).toEqual(['announcement']);
  });
});
