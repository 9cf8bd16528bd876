import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { gridSlotFrom, phaseOf } from '../verdict/schedule.ts';

/* These tests check the effects of stored results and states on a start. */

const [A, B, C] = THREE as [Region, Region, Region];
const HOUR = 3_600_000;
const all = (outcome: Outcome) => ({ [A]: outcome, [B]: outcome, [C]: outcome });
let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  await it.declare(liveMonitor(1));
  it.recorder.endResumption();
  await untilGrid(PERIOD);
});
afterEach(() => it.dispose());

async function untilGrid(period: number): Promise<void> {
  const now = it.clock.wall();
  await it.pass(gridSlotFrom(now + 1, period, phaseOf(1, period)) - now);
}

async function period(outcome: Outcome): Promise<number> {
  const slot = await it.slot(1, all(outcome));
  await it.pass(PERIOD);
  return slot;
}

async function restart(): Promise<void> {
  await it.recorder.stop();
  await it.restart();
}

test('after a downtime in which all votes expired, the status is unknown since the expiry of the newest', async () => {
  let last = 0;
  for (let slots = 0; slots < 6; slots += 1) last = await period('passed');
  await it.recorder.stop();
  it.clock.advance(HOUR);
  await it.restart();
  it.recorder.endResumption();
  await it.pass(1_000);
  expect(it.status(1)).toBe('unknown');
  const [newest] = await it.rows<{ at: number }>('SELECT at FROM transitions ORDER BY id DESC LIMIT 1');
  expect(newest).toEqual({ at: last + 3 * PERIOD });
});

test('results that were read too late to vote do not vote', async () => {
  await period('passed');
  await it.pass(20 * PERIOD);
  const late = it.clock.wall() - 9 * PERIOD;
  for (const slot of [late, late + PERIOD]) {
    for (const region of THREE) await it.report(1, slot, region, 'failed');
  }
  const votes = it.states.get(1)?.votes.map(({ outcome }) => outcome);
  expect(votes).not.toContain('failed');
  await restart();
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(it.states.get(1)?.votes.map(({ outcome }) => outcome)).toEqual(votes);
  expect(it.status(1)).toBe('unknown');
});

test('a slot that a report opens as a start ends waits for no region', async () => {
  await period('passed');
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await restart();
  it.duringNextWrite = () => it.recorder.endResumption();
  await it.report(1, slot, A, 'passed');
  await it.recorder.flushed();
  expect(it.states.get(1)).toMatchObject({ decidedSlot: slot, open: [] });
});

test('a start during a first slot lets no region judge alone, and gives a first slot at once', async () => {
  const monitor = liveMonitor(2);
  await it.declare(monitor);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, THREE);
  await it.report(2, slot, A, 'failed');
  await restart();
  expect(it.recorder.floorSlot(2)).toBe(Number.POSITIVE_INFINITY);
  it.recorder.endResumption();
  await it.pass(PERIOD);
  expect(it.states.get(2)).toMatchObject({ status: 'unknown', open: [], votes: [] });
});

test.each([
  { quorum: 'any', reports: ['passed', 'failed'] },
  { quorum: 'majority', reports: ['failed', 'failed'] },
] as const)(
  'a start during a first slot announces what no missing region can prevent: $quorum',
  async ({ quorum, reports: [ofA, ofB] }) => {
    const monitor = liveMonitor(2, { quorum });
    await it.declare(monitor);
    const slot = it.clock.wall();
    it.recorder.opened(monitor, slot, THREE);
    await it.report(2, slot, A, ofA);
    await restart();
    it.recorder.endResumption();
    await it.report(2, slot, B, ofB);
    expect(it.status(2)).toBe('error');
  },
);

test('a start during the first slot of further regions does not let the first one judge alone', async () => {
  await it.declare(liveMonitor(2, { regions: [A] }));
  await it.slot(2, { [A]: 'passed' });
  await it.pass(PERIOD);
  const monitor = liveMonitor(2, { regions: THREE });
  await it.declare(monitor);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, THREE);
  await it.report(2, slot, A, 'failed');
  await restart();
  expect(it.recorder.floorSlot(2)).toBe(Number.POSITIVE_INFINITY);
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(it.status(2)).toBe('active');
});

test('two starts during first slots let no region judge alone', async () => {
  const monitor = liveMonitor(2);
  await it.declare(monitor);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, THREE);
  await it.report(2, slot, A, 'failed');
  await restart();
  it.recorder.endResumption();
  await it.pass(1_000);
  const next = it.clock.wall();
  it.recorder.opened(monitor, next, THREE);
  for (const region of [B, C]) await it.report(2, next, region, 'not_run');
  await restart();
  it.recorder.endResumption();
  for (const region of [B, C]) await it.report(2, next, region, 'not_run');
  await it.pass(PERIOD);
  expect(it.status(2)).toBe('unknown');
});

test('a failure that no missing region can prevent is announced also after the period of a slot from before a start', async () => {
  const monitor = liveMonitor(2, { quorum: 'any' });
  await it.declare(monitor);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, THREE);
  await restart();
  it.recorder.endResumption();
  await it.pass(PERIOD);
  await it.report(2, slot, A, 'failed');
  expect(it.status(2)).toBe('error');
});

test('a region that has passed since need not report a slot from before a start', async () => {
  const monitor = liveMonitor(2, { quorum: 'any' });
  await it.declare(monitor);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, THREE);
  for (const region of [A, B]) await it.report(2, slot, region, 'passed');
  await restart();
  it.recorder.endResumption();
  await it.pass(1_000);
  const next = it.clock.wall();
  it.recorder.opened(monitor, next, THREE);
  for (const region of [A, B]) await it.report(2, next, region, 'not_run');
  await it.report(2, next, C, 'passed');
  expect(it.states.get(2)).toMatchObject({ status: 'active', open: [] });
});

test('once a later slot is decided, a slot from before a start is decided with the reports so far', async () => {
  const monitor = liveMonitor(2);
  await it.declare(monitor);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, THREE);
  await restart();
  for (const region of [A, B]) await it.report(2, slot, region, 'passed');
  it.recorder.endResumption();
  await it.pass(1_000);
  // The agent of C is gone.
  const next = it.clock.wall();
  it.recorder.opened(monitor, next, [A, B]);
  for (const region of [A, B]) await it.report(2, next, region, 'not_run');
  await it.pass(PERIOD);
  expect(it.states.get(2)).toMatchObject({ decidedSlot: next, status: 'active' });
});

test('a region that comes for the first time while a start reads results delays no slot from before the start', async () => {
  it.presence.had.delete(C);
  const monitor = liveMonitor(2, { regions: null });
  await it.declare(monitor);
  await it.slot(2, { [A]: 'passed', [B]: 'passed' });
  await it.pass(PERIOD);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, [A, B]);
  await it.report(2, slot, A, 'failed');
  await restart();
  expect(it.recorder.floorSlot(2)).toBe(0);
  it.presence.had.add(C);
  await it.report(2, slot, B, 'failed');
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(it.states.get(2)).toMatchObject({ decidedSlot: slot, status: 'error' });
});

test('a result of a slot from before a start that was not decided is not new when it comes again', async () => {
  const monitor = liveMonitor(2);
  await it.declare(monitor);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, THREE);
  await it.report(2, slot, A, 'passed');
  await restart();
  it.recorder.endResumption();
  await it.pass(PERIOD);
  await it.report(2, slot, A, 'passed');
  expect(it.recorder.counts).toMatchObject({ duplicates: 1 });
});

test('once a later slot is decided, a slot from before a start waits for no region that has failed since', async () => {
  it.presence.had.delete(C);
  const monitor = liveMonitor(2, { regions: null, quorum: 'all' });
  await it.declare(monitor);
  await it.slot(2, { [A]: 'passed', [B]: 'passed' });
  await it.pass(PERIOD);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, [A, B]);
  await it.report(2, slot, A, 'failed');
  it.presence.had.add(C);
  await restart();
  it.recorder.endResumption();
  await it.recorder.flushed();
  const next = it.clock.wall();
  it.recorder.opened(monitor, next, THREE);
  await it.report(2, next, A, 'not_run');
  for (const region of [B, C]) await it.report(2, next, region, 'failed');
  expect(it.status(2)).toBe('error');
});

test('a region that enters with one slot and reported an earlier one does not make the votes too few in between', async () => {
  await it.declare(liveMonitor(2, { regions: [A] }));
  await it.slot(2, { [A]: 'passed' });
  await it.pass(PERIOD);
  const monitor = liveMonitor(2, { regions: THREE });
  await it.declare(monitor);
  const slot = it.clock.wall();
  it.recorder.opened(monitor, slot, THREE);
  await restart();
  for (const region of [A, B]) await it.report(2, slot, region, 'passed');
  it.recorder.endResumption();
  await it.pass(1_000);
  const next = it.clock.wall();
  it.recorder.opened(monitor, next, THREE);
  for (const region of [B, C]) await it.report(2, next, region, 'not_run');
  expect(it.status(2)).toBe('active');
  const transitions = await it.rows('SELECT from_status, to_status FROM transitions WHERE monitor_id = 2');
  expect(transitions).toHaveLength(1);
});

test('results that were recorded long ago are not new when they come again', async () => {
  await period('passed');
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  // These reports decide the slot without a change of status, so only votes and open slots are written.
  for (const region of [A, B]) await it.report(1, slot, region, 'passed');
  await it.recorder.stop();
  it.clock.advance(HOUR);
  await it.restart();
  it.recorder.endResumption();
  await it.report(1, slot, A, 'passed');
  expect(it.recorder.counts).toMatchObject({ results: 1, duplicates: 1 });
});

test.each([
  { title: 'a reason that lasts', outcomes: ['failed', 'failed'] as const },
  { title: 'reasons that alternate', outcomes: ['failed', 'passed'] as const },
])('intervals continue after a start: $title', async ({ outcomes }) => {
  const rounds = async () => {
    for (let round = 0; round < 8; round += 1) {
      const [even, odd] = outcomes;
      await it.slot(1, { [C]: round % 2 === 0 ? even : odd, [A]: 'passed', [B]: 'passed' });
      await it.pass(PERIOD);
    }
  };
  await period('passed');
  await rounds();
  await restart();
  it.recorder.endResumption();
  const end = it.clock.wall() + 6 * PERIOD;
  await rounds();
  // This change causes the unwritten intervals to be written.
  await it.declare(liveMonitor(1, { name: 'Another name' }));
  const rows = await it.rows<{ reason: string; until: number }>(
    'SELECT reason, until FROM transitions WHERE from_status = to_status ORDER BY id',
  );
  expect(rows.map(({ reason }) => reason)).toEqual(
    outcomes[1] === 'failed' ? ['minority-failed'] : ['minority-failed', 'all-passed'],
  );
  expect(rows[0]?.until).toBeGreaterThanOrEqual(end);
});

test('a state without a known version loses its votes with the first change of the probed attributes', async () => {
  await period('failed');
  await it.recorder.stop();
  await it.write('UPDATE monitor_states SET version = NULL');
  await it.restart();
  it.recorder.endResumption();
  expect(it.status(1)).toBe('error');
  await it.declare(liveMonitor(1, { version: 2 }));
  expect(it.states.get(1)).toMatchObject({ status: 'unknown', reason: 'probe-changed', votes: [] });
});

test('a change that is applied before a start has resumed does not concern slots from before the start', async () => {
  await period('passed');
  // A slot was dispatched, and nothing about it is recorded.
  const given = it.clock.wall();
  await it.pass(1_000);
  await it.restart();
  await it.declare(liveMonitor(1, { version: 2 }));
  expect(it.states.get(1)?.floorSlot).toBeGreaterThanOrEqual(given);
  it.recorder.endResumption();
  await untilGrid(PERIOD);
  await period('passed');
  expect(it.status(1)).toBe('active');
});

test('after a change of the probed attributes before the first slot of a start, no earlier slot counts, not even one ahead of the clock', async () => {
  await it.declare(liveMonitor(2));
  await it.slot(2, all('passed'));
  await period('passed');
  await it.restart();
  expect(it.recorder.floorSlot(1)).toBe(0);
  await it.declare(liveMonitor(1, { version: 2 }));
  await it.declare(liveMonitor(2, { name: 'Another name' }));
  expect([1, 2].map((id) => it.recorder.floorSlot(id))).toEqual([Number.POSITIVE_INFINITY, 0]);
  // From now on this process has opened a slot itself. So it knows up to which slot the earlier attributes
  // were probed.
  const given = it.clock.wall();
  it.recorder.opened(liveMonitor(1, { version: 2 }), given, THREE);
  await it.declare(liveMonitor(1, { version: 3 }));
  expect(it.recorder.floorSlot(1)).toBeGreaterThanOrEqual(given);
  expect(it.recorder.floorSlot(1)).toBeLessThan(given + PERIOD);
});

test('a status from a clock that was ahead does not date a later one', async () => {
  it.clock.advance(24 * HOUR);
  await period('passed');
  await it.recorder.stop();
  it.clock.stepWall(-24 * HOUR);
  await it.restart();
  it.recorder.endResumption();
  const slot = await period('failed');
  expect(it.states.get(1)).toMatchObject({ status: 'error', since: slot });
  // The rows of the history are in the order of their instants.
  expect(await it.rows('SELECT to_status, at FROM transitions ORDER BY id')).toEqual([
    { to_status: 'active', at: slot },
    { to_status: 'unknown', at: slot },
    { to_status: 'error', at: slot },
  ]);
});

test('a status whose votes were set aside is unknown until the next slot, even if older votes would count', async () => {
  await period('passed');
  it.aheadSlot = await period('failed');
  await it.recorder.stop();
  it.clock.stepWall(-1.5 * PERIOD);
  await it.restart();
  it.recorder.endResumption();
  await it.pass(1_000);
  expect(it.states.get(1)).toMatchObject({ status: 'unknown', reason: 'too-few-votes' });
  it.aheadSlot = null;
  await period('passed');
  expect(it.status(1)).toBe('active');
});

test('a result from before a change of the probed attributes decides no slot since the change: one failure is no error', async () => {
  const two = [A, B];
  const anew = liveMonitor(1, { version: 2, regions: two });
  await it.declare(anew);
  const slot = it.clock.wall();
  it.recorder.opened(anew, slot, two);
  await it.report(1, slot, A, 'passed');
  expect(it.status(1)).toBe('active');
  await it.report(1, slot + 20_000, A, { outcome: 'passed', version: 1 });
  await it.report(1, slot, B, 'passed');
  await it.pass(PERIOD);
  const next = it.clock.wall();
  it.recorder.opened(anew, next, two);
  await it.report(1, next, A, 'failed');
  await it.report(1, next, B, { outcome: 'not_run', reason: 'agent-starved' });
  expect(it.status(1)).toBe('active');
});
