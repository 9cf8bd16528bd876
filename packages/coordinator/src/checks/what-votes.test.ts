import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { gridSlotFrom, phaseOf } from '../verdict/schedule.ts';

/*
 * These tests check which results become votes, and in which order, after a start
 * and after a change of the declaration.
 */

const [A, B, C] = THREE as [Region, Region, Region];
const TWO = [A, B];
const all = (outcome: Outcome) => ({ [A]: outcome, [B]: outcome, [C]: outcome });
let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  await it.declare(liveMonitor(1));
  it.recorder.endResumption();
  const now = it.clock.wall();
  await it.pass(gridSlotFrom(now + 1, PERIOD, phaseOf(1, PERIOD)) - now);
});
afterEach(() => it.dispose());

async function restart(): Promise<void> {
  await it.recorder.stop();
  await it.restart();
}

const votes = () => [...(it.states.get(1)?.votes ?? [])].sort((a, b) => (a.region < b.region ? -1 : 1));
const voters = () => votes().map(({ region }) => region);

test('a vote that was removed with its region does not come back', async () => {
  await it.slot(1, all('passed'));
  await it.pass(1_000);
  await it.declare(liveMonitor(1, { regions: TWO }));
  await it.declare(liveMonitor(1));
  await restart();
  expect(voters()).toEqual(TWO);
});

test('a report that waited for its slot is no vote, if its region was removed and declared again meanwhile', async () => {
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await it.report(1, slot, C, 'passed');
  await it.declare(liveMonitor(1, { regions: TWO }));
  await it.declare(liveMonitor(1));
  for (const region of TWO) await it.report(1, slot, region, 'passed');
  expect(voters()).toEqual(TWO);
  await restart();
  expect(voters()).toEqual(TWO);
});

test('a report of a region that is not declared opens no slot', async () => {
  await it.slot(1, all('passed'));
  await it.declare(liveMonitor(1, { regions: TWO }));
  await it.pass(PERIOD);
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1, { regions: TWO }), slot, TWO);
  await it.report(1, slot, C, 'failed');
  await restart();
  expect(it.states.get(1)?.open).toEqual([]);
});

describe('a monitor whose slots are left out under overload', () => {
  /** Lets `periods` pass. In each of them a slot is left out in these regions. */
  async function leaveOut(periods: number, regions: readonly Region[]): Promise<void> {
    for (let period = 0; period < periods; period += 1) {
      await it.pass(PERIOD);
      it.recorder.leftOut(liveMonitor(1), it.clock.wall(), regions);
      await it.recorder.flushed();
    }
  }

  test('keeps its status between the slots that run, and becomes unknown three periods after the last slot that was left out', async () => {
    await it.slot(1, all('passed'));
    await leaveOut(15, THREE);
    expect(it.status(1)).toBe('active');
    await it.slot(1, all('failed'));
    await leaveOut(15, THREE);
    expect(it.status(1)).toBe('error');
    await it.pass(3 * PERIOD);
    expect(it.status(1)).toBe('error');
    await it.pass(1);
    expect(it.status(1)).toBe('unknown');
  });

  test('does not wait for a region in which a slot is left out, and keeps its vote', async () => {
    await it.slot(1, all('passed'));
    await leaveOut(2, [C]);
    await it.pass(PERIOD);
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    it.recorder.leftOut(liveMonitor(1), slot, [C]);
    for (const region of TWO) await it.report(1, slot, region, 'failed');
    expect(it.states.get(1)).toMatchObject({ status: 'error', decidedSlot: slot });
    expect(voters()).toEqual(THREE);
  });

  test('keeps no vote for longer than without overload if no region reports', async () => {
    await it.slot(1, all('passed'));
    await it.pass(3 * PERIOD + 1);
    expect(it.status(1)).toBe('unknown');
    await leaveOut(3, THREE);
    expect(it.status(1)).toBe('unknown');
  });
});

test('a pass about an older slot that is decided later shortens a run of failures, also after a restart', async () => {
  await it.slot(1, all('passed'));
  await it.pass(PERIOD);
  const slow = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slow, THREE);
  await it.report(1, slow, A, 'failed');
  await it.report(1, slow, B, 'passed');
  await it.pass(PERIOD - 5_000);
  const next = it.clock.wall() + 5_000;
  it.recorder.opened(liveMonitor(1), next, THREE);
  await it.report(1, next, C, 'failed');
  for (const region of TWO) await it.report(1, next, region, 'passed');
  const attempts = [{ started_ms: 0, latency: 20_000, outcome: 'passed' as const }];
  await it.report(1, slow, C, { outcome: 'passed', attempts });
  const before = votes().map(({ failedSince, upSlot }) => ({ failedSince, upSlot }));
  expect(before[2]).toEqual({ failedSince: slow + 20_001, upSlot: slow });
  await restart();
  expect(votes()).toMatchObject(before);
});

test('if the clock was set back, no vote was cast in the future', async () => {
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await it.pass(10_000);
  for (const region of THREE) await it.report(1, slot, region, 'passed');
  await it.pass(PERIOD);
  await it.slot(1, all('passed'));
  await it.recorder.stop();
  it.clock.stepWall(-8_000);
  await it.restart();
  const now = it.slotClock.now();
  expect(votes().map(({ at }) => at <= now)).toEqual([true, true, true]);
});

test('a region whose first slot is not decided yet counts in a later slot that it is not given', async () => {
  const monitor = liveMonitor(2);
  await it.declare(monitor);
  const first = it.clock.wall();
  it.recorder.opened(monitor, first, THREE);
  await it.report(2, first, B, 'passed');
  await it.report(2, first, A, 'failed');
  await it.pass(PERIOD / 2);
  // The agent of B is gone, and the check of C still runs.
  const next = it.clock.wall();
  it.recorder.opened(monitor, next, [A, C]);
  it.recorder.skipped(monitor, next, C);
  await it.report(2, next, A, 'failed');
  expect(it.states.get(2)).toMatchObject({ decidedSlot: next, status: 'unknown' });
});

describe('after a start that opened a slot again, deadlines decide later ones', () => {
  async function undecided(): Promise<number> {
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'failed');
    await it.report(1, slot, B, 'passed');
    return slot;
  }
  const open = () => it.states.get(1)?.open.map(({ slot }) => slot);

  test('as before', async () => {
    const slot = await undecided();
    await restart();
    it.recorder.opened(liveMonitor(1), slot, [C]);
    it.recorder.endResumption();
    await it.pass(PERIOD);
    const next = await undecided();
    expect(open()).toEqual([next]);
    await it.pass(PERIOD);
    expect(open()).toEqual([]);
  });

  test('even if the end of the start could not be recorded', async () => {
    await undecided();
    await restart();
    it.commitFailure = new TypeError('a defect');
    it.recorder.endResumption();
    await it.recorder.flushed();
    it.commitFailure = null;
    expect(it.recorder.dropped.unrecordable).toBe(2);
    await it.pass(PERIOD);
    await undecided();
    await it.pass(PERIOD);
    expect(open()).toEqual([]);
  });

  test('and a slot that was decided before is not opened', async () => {
    const slot = await it.slot(1, all('passed'));
    await restart();
    it.recorder.opened(liveMonitor(1), slot, [C]);
    it.recorder.endResumption();
    await it.recorder.flushed();
    expect(open()).toEqual([]);
  });
});

describe('after a change of the probed attributes', () => {
  const anew = liveMonitor(1, { version: 2 });
  const HOUR = 3_600_000;

  test('an earlier slot is not opened', async () => {
    await it.declare(anew);
    it.recorder.opened(liveMonitor(1), it.clock.wall(), THREE);
    await it.recorder.flushed();
    expect(it.states.get(1)?.open).toEqual([]);
  });

  test.each([
    ['far ahead', (slot: number) => ({ slot: slot + 2 * HOUR, region: A, version: 1 })],
    ['right after an open slot', (slot: number) => ({ slot: slot + 1_000, region: A, version: 1 })],
  ])('an earlier result, %s, ends no slot since the change', async (_name, of) => {
    await it.declare(anew);
    const slot = it.clock.wall();
    it.recorder.opened(anew, slot, THREE);
    await it.recorder.flushed();
    const { slot: former, region, version } = of(slot);
    await it.report(1, former, region, { outcome: 'passed', version });
    for (const each of THREE) await it.report(1, slot, each, 'passed');
    expect(it.status(1)).toBe('active');
    expect(it.states.get(1)?.floorSlot).toBeLessThan(slot);
  });

  test('a result since the change, of a region that is removed, ends no slot', async () => {
    await it.declare({ ...anew, regions: TWO });
    const slot = it.clock.wall();
    await it.report(1, slot, C, 'failed');
    it.recorder.opened({ ...anew, regions: TWO }, slot, TWO);
    for (const region of TWO) await it.report(1, slot, region, 'passed');
    expect(voters()).toEqual(TWO);
  });
});

test('a result about a slot far ahead is counted once', async () => {
  const slot = await it.slot(1, all('passed'));
  for (let time = 0; time < 2; time += 1) await it.report(1, slot + 7_200_000, A, 'passed');
  expect(it.recorder.counts).toMatchObject({ results: 5, duplicates: 1 });
});

test('a slot that dispatch gives before it learns of a deactivation never votes, also after the next activation', async () => {
  await it.slot(1, all('passed'));
  await it.declare(liveMonitor(1, { active: false }));
  const slot = it.clock.wall() + 1;
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await it.declare(liveMonitor(1));
  await it.pass(1_000);
  for (const region of THREE) await it.report(1, slot, region, 'failed');
  expect(votes()).toEqual([]);
  expect(it.status(1)).toBe('unknown');
});

test('an incident that was not announced to any channel ends with its monitor', async () => {
  await it.slot(1, all('failed'));
  await it.declare(liveMonitor(1, { active: false }));
  const ended = await it.rows('SELECT closure FROM incidents WHERE closed_at IS NOT NULL');
  expect(ended).toEqual([{ closure: 'monitor-deactivated' }]);
});
