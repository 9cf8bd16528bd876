import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { regionSet } from '../verdict/region-set.ts';

const [A, B, C] = THREE as [Region, Region, Region];
const all = (outcome: Outcome) => ({ [A]: outcome, [B]: outcome, [C]: outcome });

let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  await it.declare(liveMonitor(1));
  await it.channel(10, 'webhook', [1]);
  await it.channel(20, 'incident_a', [1]);
  it.recorder.endResumption();
});

afterEach(() => it.dispose());

/** Lets a whole period pass, in which all regions report this outcome. Returns the slot. */
async function period(outcome: Outcome): Promise<number> {
  const slot = await it.slot(1, all(outcome));
  await it.pass(PERIOD);
  return slot;
}

const resultsOf = async (slot: number) => (await it.results()).filter((result) => result.slot === slot);

type Told = [channel: number, status: string, closure: string | undefined];
function told(): Told[] {
  return it.enqueued.map(({ notificationId, alert }) => [notificationId, alert.status, alert.closure]);
}

const transitions = () =>
  it.rows<{ from_status: string; to_status: string; reason: string; at: number; slot: number | null }>(
    'SELECT from_status, to_status, reason, at, slot FROM transitions ORDER BY id',
  );

describe('regions that join', () => {
  const D: Region = 'hosta-ams';
  const everywhere = liveMonitor(2, { regions: null });
  const votes = (regions: readonly Region[]) =>
    Object.fromEntries(regions.map((region) => [region, 'passed' as const]));

  beforeEach(async () => {
    it.presence.had.clear();
    it.presence.had.add(A);
    await it.declare(everywhere);
    await it.slot(2, votes([A]));
    await it.pass(PERIOD);
  });

  test('after more than a day of absence make nothing unknown before they get a slot', async () => {
    for (const region of [B, C]) it.presence.had.add(region);
    await it.slot(2, votes([A, B, C]));
    await it.pass(PERIOD);
    for (const region of [B, C]) it.presence.had.delete(region);
    for (let slots = 0; slots < 4; slots += 1) {
      await it.slot(2, votes([A]));
      await it.pass(PERIOD);
    }
    it.recorder.opened(everywhere, it.clock.wall(), [A]);
    for (const region of [B, C]) it.presence.had.add(region);
    await it.report(2, it.clock.wall(), A, 'passed');
    expect(it.status(2)).toBe('active');
  });

  test('leave too few votes from the decision on with which they enter, not since older votes expired', async () => {
    const two = liveMonitor(1, { regions: [A, B] });
    for (const region of [B, C, D]) it.presence.had.add(region);
    await it.declare(two);
    const first = await it.slot(1, { [A]: 'passed', [B]: 'passed' });
    await it.pass(PERIOD);
    await it.slot(1, { [A]: 'passed' });
    await it.skip(1, first + PERIOD, B);
    await it.pass(PERIOD + 20_000);
    await it.declare({ ...two, regions: [A, B, C, D] });
    // Only A's vote still counts, in an electorate of A and B. Then C and D enter without a vote.
    const joined = it.clock.wall();
    it.recorder.opened(it.monitors.get(1) ?? two, joined, [A, B, C, D]);
    await it.pass(15_000);
    expect(it.status(1)).toBe('active');
    for (const region of [A, B, C, D]) await it.skip(1, joined, region);
    expect((await transitions()).at(-1)).toMatchObject({
      to_status: 'unknown',
      reason: 'votes-expired',
      at: joined + 15_000,
    });
  });

  test('stay in the electorate after a restart', async () => {
    for (const region of [B, C, D]) it.presence.had.add(region);
    await it.slot(2, votes([A, B, C, D]));
    await it.recorder.stop();
    await it.restart();
    expect(it.states.get(2)?.entered).toBe(regionSet([A, B, C, D]));
  });
});

describe('slots in a row', () => {
  const D: Region = 'hosta-ams';
  const rows = liveMonitor(3, { confirmAfter: 2 });

  beforeEach(async () => {
    it.presence.had.add(D);
    await it.declare(rows);
    await it.slot(3, all('passed'));
    await it.pass(PERIOD);
  });

  test('do not include a slot that regions have joined and not reported yet', async () => {
    await it.slot(3, all('failed'));
    await it.pass(PERIOD);
    const more = { ...rows, regions: [A, B, C, D] };
    await it.declare(more);
    const slot = it.clock.wall();
    it.recorder.opened(more, slot, [A, B, C, D]);
    await it.recorder.flushed();
    expect(it.status(3)).toBe('active');
    for (const region of [A, B, C, D]) await it.report(3, slot, region, 'passed');
    expect([it.status(3), it.changes.map(({ to }) => to)]).toEqual(['active', ['active']]);
  });

  test.each([
    ['fewer', 4, 2],
    ['more', 2, 4],
  ])(
    'change the status from the first of them on, if %s are declared in the middle',
    async (_name, before, after) => {
      await it.declare({ ...rows, confirmAfter: before });
      const first = await it.slot(3, all('failed'));
      await it.pass(PERIOD);
      if (before > 3) {
        await it.slot(3, all('failed'));
        await it.pass(PERIOD);
        await it.slot(3, all('failed'));
        await it.pass(PERIOD);
      }
      await it.declare({ ...rows, confirmAfter: after });
      while (it.status(3) === 'active') {
        await it.slot(3, all('failed'));
        await it.pass(PERIOD);
      }
      expect(it.changes.at(-1)).toMatchObject({ monitor: { id: 3 }, to: 'error', at: first });
      expect(it.states.get(3)?.incidentSince).toBe(first);
    },
  );
});

test('after a restart, the reasons of a status that a row has dated back are not those of the status before', async () => {
  await it.declare(liveMonitor(3, { confirmAfter: 3, recoverAfter: 2 }));
  for (const outcome of ['passed', 'failed', 'failed', 'failed'] as const) {
    await it.slot(3, all(outcome));
    await it.pass(PERIOD);
  }
  await it.restart();
  it.recorder.endResumption();
  await it.slot(3, all('passed'));
  await it.pass(PERIOD);
  const unconfirmed = await it.rows(
    `SELECT to_status, until - at AS lasted FROM transitions
      WHERE monitor_id = 3 AND reason = 'unconfirmed' ORDER BY id`,
  );
  expect(unconfirmed).toEqual([
    { to_status: 'active', lasted: PERIOD },
    { to_status: 'error', lasted: 0 },
  ]);
});

describe('regions without agents', () => {
  test('all regions lost: unknown, dated at the expiry, and only once', async () => {
    const last = await period('passed');
    await it.pass(10 * PERIOD);
    expect(it.status(1)).toBe('unknown');
    const rows = await transitions();
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatchObject({ reason: 'votes-expired', at: last + 3 * PERIOD, slot: null });
    expect(told()).toEqual([]);
    expect(it.recorder.dropped['monitor-unknown']).toBe(1);
  });

  test('an expiry is dated in whole milliseconds, whatever fractions the clocks have', async () => {
    it.clock.advance(0.4);
    const slot = Math.floor(it.clock.wall());
    it.recorder.opened(liveMonitor(1), slot, THREE);
    for (const region of THREE) await it.report(1, slot, region, 'passed');
    it.clock.advance(0.3);
    await it.pass(4 * PERIOD);
    const expiry = (await transitions()).at(-1);
    expect(expiry).toMatchObject({ reason: 'votes-expired' });
    expect(Number.isInteger(expiry?.at)).toBe(true);
  });

  test('votes that expire while the next check runs make nothing unknown, if it is answered at once', async () => {
    await it.slot(1, all('passed'));
    await it.pass(3 * PERIOD - 100);
    const next = it.clock.wall();
    it.recorder.opened(liveMonitor(1), next, THREE);
    await it.pass(300);
    for (const region of THREE) await it.report(1, next, region, 'passed');
    await it.pass(PERIOD);
    expect(it.changes.map(({ to }) => to)).toEqual(['active']);
  });

  test('votes that expire while the next check runs make nothing unknown, if another expired long before', async () => {
    await it.slot(1, all('passed'));
    await it.pass(2 * PERIOD);
    await it.slot(1, { [A]: 'passed', [B]: 'passed' });
    await it.pass(3 * PERIOD - 100);
    const next = it.clock.wall();
    it.recorder.opened(liveMonitor(1), next, THREE);
    await it.pass(300);
    for (const region of THREE) await it.report(1, next, region, 'passed');
    expect(it.changes.map(({ to }) => to)).toEqual(['active']);
  });

  test('votes that expire while the next check runs make the status unknown, if its failures are apart from others', async () => {
    const first = await it.slot(1, all('passed'));
    await it.pass(2 * PERIOD);
    await it.slot(1, { [A]: 'failed' });
    await it.pass(PERIOD - 100);
    const next = it.clock.wall();
    it.recorder.opened(liveMonitor(1), next, THREE);
    await it.pass(300);
    for (const region of [A, C]) await it.skip(1, next, region);
    await it.report(1, next, B, 'failed');
    expect(it.changes.slice(1)).toEqual([
      expect.objectContaining({ to: 'unknown', reason: 'votes-expired', at: first + 3 * PERIOD }),
    ]);
  });

  test('votes that expire while the next check runs make the status unknown before the end of a hold is announced', async () => {
    await period('failed');
    it.isHeld = () => true;
    await it.slot(1, all('passed'));
    await it.pass(3 * PERIOD - 100);
    const next = it.clock.wall();
    it.recorder.opened(liveMonitor(1), next, THREE);
    await it.pass(300);
    it.isHeld = () => false;
    it.recorder.announceStatuses([1]);
    await it.recorder.flushed();
    expect(it.alerts()).toEqual(['error', 'error']);
    for (const region of THREE) await it.report(1, next, region, 'passed');
    expect(it.alerts()).toEqual(['error', 'error', 'recovered', 'recovered']);
  });

  test('a vote that expires in the millisecond in which a slot ends makes nothing unknown, because another replaces it', async () => {
    await period('passed');
    await it.slot(1, { [A]: 'passed', [C]: 'passed' });
    await it.pass(PERIOD);
    await it.slot(1, { [C]: 'failed' });
    await it.pass(PERIOD);
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'passed');
    await it.report(1, slot, B, 'failed');
    // C does not report. B's failure is apart from C's last failure, so the status
    // stays, unless it is `unknown`.
    await it.pass(PERIOD);
    expect(it.states.get(1)).toMatchObject({ decidedSlot: slot, status: 'active', reason: 'failures-apart' });
    expect(it.changes.map(({ to }) => to)).toEqual(['active']);
  });

  test('not_run never counts: the earlier vote stays until it expires', async () => {
    await period('passed');
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    for (const region of THREE) await it.abstain(1, slot, region, 'no-agent');
    await it.pass(PERIOD);
    expect(it.status(1)).toBe('active');
    await it.pass(PERIOD + 1);
    expect(it.status(1)).toBe('unknown');
    const notRun = (await it.results()).filter(({ outcome }) => outcome === 'not_run');
    expect(notRun.map(({ reason }) => reason)).toEqual(['no-agent', 'no-agent', 'no-agent']);
  });
});

describe('slots', () => {
  test('a late report makes the open slot certain', async () => {
    await period('passed');
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.pass(PERIOD);
    const next = it.clock.wall();
    it.recorder.opened(liveMonitor(1), next, THREE);
    await it.skip(1, next, C);
    await it.report(1, next, A, { outcome: 'failed', attempts: [] });
    // B may still pass, and C passed before, so nothing is certain.
    expect(it.states.get(1)?.decidedSlot).toBe(slot);
    await it.report(1, slot, C, { outcome: 'failed', latency: PERIOD });
    expect(it.states.get(1)?.decidedSlot).toBe(next);
    expect(it.status(1)).toBe('error');
  });

  test('each slot is decided separately: a newer one does not wait for an older one', async () => {
    await period('passed');
    const first = it.clock.wall();
    it.recorder.opened(liveMonitor(1), first, THREE);
    await it.report(1, first, A, 'passed');
    await it.pass(PERIOD / 2);
    const second = it.clock.wall();
    it.recorder.opened(liveMonitor(1), second, THREE);
    await it.report(1, second, A, 'failed');
    await it.report(1, second, B, 'failed');
    expect(it.status(1)).toBe('error');
    expect(it.states.get(1)?.open.map(({ slot }) => slot)).toEqual([first]);
    await it.report(1, first, C, 'passed');
    expect(it.alerts()).toEqual(['error', 'error']);
  });

  test('a slot waits for a region whose not_run is offered again, and not for a region that abstains', async () => {
    await period('passed');
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    it.isOfferedAgain = () => true;
    await it.report(1, slot, A, { outcome: 'not_run', reason: 'shutting-down' });
    await it.report(1, slot, B, 'failed');
    await it.abstain(1, slot, C, 'no-agent');
    expect(it.states.get(1)?.decidedSlot).toBeLessThan(slot);
    await it.report(1, slot, A, 'failed');
    expect(it.states.get(1)?.decidedSlot).toBe(slot);
    expect(await resultsOf(slot)).toMatchObject([
      { region: A, outcome: 'failed' },
      { region: B, outcome: 'failed' },
      { region: C, outcome: 'not_run' },
    ]);
  });

  test('a repeated not_run, and a repeated result of a removed region, are not new', async () => {
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    it.isOfferedAgain = () => true;
    for (let times = 0; times < 2; times += 1) {
      await it.report(1, slot, A, { outcome: 'not_run', reason: 'shutting-down' });
    }
    expect(it.recorder.counts).toMatchObject({ results: 2, duplicates: 1 });
    await it.declare(liveMonitor(1, { regions: [A, B] }));
    for (let times = 0; times < 2; times += 1) await it.report(1, slot, C, 'passed');
    expect(it.recorder.counts).toMatchObject({ results: 4, duplicates: 2 });
  });
});

describe('the clock', () => {
  const HOUR = 3_600_000;
  const history = async () =>
    (await transitions()).map(({ to_status: to, reason, at, slot }) => ({ to, reason, at, slot }));

  test.each([
    ['its alarm comes first', 1_000],
    ['the next slot is decided first', 0],
  ])('jumps forward by hours: monitors are unknown from the expiry on, when %s', async (_name, ms) => {
    const first = await period('failed');
    it.clock.stepWall(8 * HOUR);
    await it.pass(ms);
    const slot = await it.slot(1, all('failed'));
    expect(await history()).toEqual([
      { to: 'error', reason: 'majority-failed', at: first, slot: first },
      { to: 'unknown', reason: 'votes-expired', at: first + 3 * PERIOD, slot: null },
      { to: 'error', reason: 'majority-failed', at: slot, slot },
    ]);
    // The incident continued, so nothing is announced twice.
    expect(told()).toHaveLength(2);
  });

  test('jumps forward by so much that no region had an agent within a day: unknown from the expiry on', async () => {
    const last = await period('passed');
    it.clock.stepWall(30 * HOUR);
    it.presence.had.clear();
    await it.pass(1_000);
    expect((await history()).at(-1)).toMatchObject({ reason: 'no-electorate', at: last + 3 * PERIOD });
  });

  test('jumps forward while regions work on a slot: it waits for them as before', async () => {
    await it.declare(liveMonitor(2, { regions: [A, B] }));
    await it.channel(30, 'webhook', [2]);
    await it.slot(2, { [A]: 'passed', [B]: 'passed' });
    await it.pass(PERIOD);
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(2, { regions: [A, B] }), slot, [A, B]);
    await it.report(2, slot, A, 'failed');
    it.clock.stepWall(50_000);
    // The earlier votes expire in this time, so the monitor is judged.
    await it.pass(20_000);
    expect(it.status(2)).toBe('unknown');
    await it.report(2, slot, B, 'passed');
    await it.pass(PERIOD);
    expect(it.alerts()).toEqual([]);
    expect(it.status(2)).toBe('active');
  });

  test('jumps forward before a monitor is deactivated: it was unknown since the expiry', async () => {
    const first = await period('failed');
    it.clock.stepWall(HOUR);
    await it.declare(liveMonitor(1, { active: false }));
    expect((await history()).at(-1)).toMatchObject({ to: 'unknown', at: first + 3 * PERIOD });
  });

  test('was ahead when a slot was dispatched: its reports are recorded, and hide no later slot', async () => {
    await period('passed');
    const ahead = it.clock.wall() + 7_200_000;
    for (const region of THREE) await it.report(1, ahead, region, 'passed');
    expect(await resultsOf(ahead)).toHaveLength(3);
    await period('failed');
    expect(told().map(([, status]) => status)).toEqual(['error', 'error']);
  });
});

describe('changed declarations', () => {
  test('a changed probe ends all votes; announcements and the incident stay', async () => {
    await period('passed');
    await period('failed');
    await it.declare(liveMonitor(1, { version: 2 }));
    expect(it.status(1)).toBe('unknown');
    expect((await transitions()).at(-1)).toMatchObject({ to_status: 'unknown', reason: 'probe-changed' });
    expect(told()).toHaveLength(2);
    await period('failed');
    expect(told()).toHaveLength(2);
    await period('passed');
    expect(told().slice(2)).toEqual([
      [10, 'recovered', undefined],
      [20, 'recovered', undefined],
    ]);
    expect(await it.rows('SELECT key FROM incidents')).toHaveLength(1);
  });

  test('a result of the previous version is recorded and never votes', async () => {
    await period('passed');
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'failed');
    await it.declare(liveMonitor(1, { version: 2 }));
    for (const region of [B, C]) await it.report(1, slot, region, { outcome: 'failed', version: 1 });
    await it.pass(PERIOD);
    await period('passed');
    expect(await resultsOf(slot)).toHaveLength(3);
    expect(told()).toEqual([]);
    expect(it.status(1)).toBe('active');
  });

  test('a changed name keeps votes and status', async () => {
    await period('passed');
    const votes = it.states.get(1)?.votes;
    await it.declare(liveMonitor(1, { name: 'Renamed' }));
    expect(it.status(1)).toBe('active');
    expect(votes).toHaveLength(3);
    expect(it.states.get(1)?.votes).toEqual(votes);
  });

  test('a report of a region that is removed before its slot is decided is no vote', async () => {
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'failed');
    await it.declare(liveMonitor(1, { regions: [B, C] }));
    for (const region of [B, C]) await it.report(1, slot, region, 'passed');
    expect(it.states.get(1)).toMatchObject({ status: 'active', decidedSlot: slot });
    expect(it.states.get(1)?.votes.map(({ region }) => region)).toEqual([B, C]);
  });

  describe('regions that were removed and are declared again', () => {
    let before: number;
    let since: number;

    beforeEach(async () => {
      await it.slot(1, all('passed'));
      await it.pass(PERIOD);
      before = it.clock.wall();
      it.recorder.opened(liveMonitor(1), before, THREE);
      await it.declare(liveMonitor(1, { regions: ['hosta-ams'] }));
      await it.declare(liveMonitor(1));
      await it.pass(PERIOD);
      since = it.clock.wall();
    });

    test('count with their earlier late reports as soon as they get a slot', async () => {
      for (const region of [A, B]) await it.report(1, before, region, 'failed');
      expect(it.status(1)).toBe('unknown');
      it.recorder.opened(liveMonitor(1), since, THREE);
      await it.recorder.flushed();
      expect(it.status(1)).toBe('error');
    });

    test('make no error while more other regions were asked with them', async () => {
      await it.report(1, before, A, 'failed');
      it.recorder.opened(liveMonitor(1), since, THREE);
      await it.recorder.flushed();
      expect(it.states.get(1)).toMatchObject({ status: 'unknown', entered: 0 });
    });

    test('count with their late reports when a slot ends without one', async () => {
      for (const region of [A, B]) await it.report(1, before, region, 'passed');
      it.recorder.opened(liveMonitor(1), since, THREE);
      await it.pass(PERIOD - 1_000);
      expect(it.status(1)).toBe('unknown');
      await it.pass(1_000);
      expect(it.status(1)).toBe('active');
      expect((await transitions()).at(-1)).toMatchObject({ reason: 'all-passed', slot: since });
    });
  });

  test('votes count by the declared period, even if dispatch reports a job from before the change', async () => {
    const before = liveMonitor(2);
    const after = { ...before, periodMs: 120 * PERIOD };
    await it.declare(before);
    const slot = it.clock.wall();
    it.recorder.opened(before, slot, THREE);
    for (const region of [A, B]) await it.report(2, slot, region, region === A ? 'passed' : 'failed');
    await it.declare(after);
    it.recorder.abstained(before, slot, C, 'job-lost');
    await it.pass(4 * PERIOD);
    expect(it.status(2)).toBe('active');
  });

  test.each([1, 2])(
    'regions removed and added again make nothing unknown, by version %i',
    async (version) => {
      await period('passed');
      await it.declare(liveMonitor(1, { regions: [A], version }));
      await it.slot(1, { [A]: 'passed' });
      await it.declare(liveMonitor(1, { version }));
      await it.pass(5_000);
      expect(it.status(1)).toBe('active');
    },
  );

  test('deactivated in an incident: incident kinds get the reason, others nothing; active again, it starts again', async () => {
    await period('passed');
    await period('failed');
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'failed');
    await it.declare(liveMonitor(1, { active: false }));
    expect(told().slice(2)).toEqual([[20, 'recovered', 'monitor-deactivated']]);
    expect(it.enqueued[2]?.alert.incident).toBe(it.enqueued[0]?.alert.incident);
    expect(it.status(1)).toBe('unknown');
    expect(await it.rows('SELECT closure FROM incidents')).toEqual([{ closure: 'monitor-deactivated' }]);
    expect(await it.rows('SELECT announced FROM links')).toEqual([
      { announced: 'active' },
      { announced: 'active' },
    ]);
    // These results were still on their way. They are recorded, but they are about a state that has ended.
    await it.report(1, slot, B, 'failed');
    await it.declare(liveMonitor(1, { active: true }));
    await it.report(1, slot, C, 'failed');
    expect(it.status(1)).toBe('unknown');
    await it.pass(PERIOD);
    await period('failed');
    expect(told().slice(3)).toEqual([
      [10, 'error', undefined],
      [20, 'error', undefined],
    ]);
    expect(await it.rows('SELECT key FROM incidents')).toHaveLength(2);
  });

  test('deleted in an incident: incident kinds get the reason', async () => {
    await period('passed');
    await period('failed');
    await it.remove(1);
    expect(told().slice(2)).toEqual([[20, 'recovered', 'monitor-deleted']]);
    expect(await it.rows('SELECT closure FROM incidents')).toEqual([{ closure: 'monitor-deleted' }]);
    expect(it.states.get(1)).toBeUndefined();
    await it.report(1, it.clock.wall(), A, 'failed');
    expect(it.recorder.dropped['unknown-monitor']).toBe(1);
    expect(await it.rows('SELECT 1 FROM monitor_states')).toEqual([]);
  });

  test('a channel linked during an incident gets it at once, and recovers with the others', async () => {
    await period('passed');
    await period('failed');
    await it.channel(30, 'sms', [1]);
    expect(told().slice(2)).toEqual([[30, 'error', undefined]]);
    expect(it.enqueued[2]?.alert.incident).toBe(it.enqueued[0]?.alert.incident);
    await period('passed');
    expect(
      told()
        .slice(3)
        .map(([channel, status]) => [channel, status]),
    ).toEqual([
      [10, 'recovered'],
      [20, 'recovered'],
      [30, 'recovered'],
    ]);
  });

  test('unlinked in an incident: resolved on incident kinds; linked again it starts from active', async () => {
    await period('passed');
    await period('failed');
    await it.unlink(1, 10);
    await it.unlink(1, 20);
    expect(told().slice(2)).toEqual([[20, 'recovered', 'channel-unlinked']]);
    expect(await it.rows('SELECT 1 FROM links')).toEqual([]);
    await it.link(1, 10, 'webhook');
    expect(told().slice(3)).toEqual([[10, 'error', undefined]]);
    await it.link(1, 10, 'webhook');
    expect(told()).toHaveLength(4);
  });

  test('a channel whose kind changes gets the incident again, and ends incidents as the new kind does', async () => {
    await period('passed');
    await period('failed');
    await it.changeKind(10, 'incident_b');
    await it.changeKind(20, 'email');
    expect(told().slice(2)).toEqual([
      [10, 'error', undefined],
      [20, 'error', undefined],
    ]);
    await it.changeKind(10, 'incident_b');
    expect(told()).toHaveLength(4);
    await it.remove(1);
    expect(told().slice(4)).toEqual([[10, 'recovered', 'monitor-deleted']]);
  });

  test('a deleted channel drops its queue and leaves the others', async () => {
    await period('passed');
    await period('failed');
    await it.removeChannel(10);
    // The rows of the channel's deliveries are removed in small steps after the
    // channel. Until then they belong to no channel.
    const owned = 'SELECT n.id FROM deliveries d JOIN notifications n ON n.id = d.notification_id';
    expect(await it.rows(owned)).toEqual([{ id: 20 }]);
    await period('passed');
    expect(told().slice(2)).toEqual([[20, 'recovered', undefined]]);
  });

  test('a channel that is removed while an alert for it is queued loses no other alert', async () => {
    await period('passed');
    // The channel's row is gone, but the effects are not applied yet.
    await it.write('DELETE FROM notifications WHERE id = 10');
    await period('failed');
    expect(told()).toEqual([[20, 'error', undefined]]);
    expect(it.status(1)).toBe('error');
  });
});

describe('reasons of an unchanged status', () => {
  const intervals = () =>
    it.rows<{ reason: string; at: number; until: number; slots: number }>(
      'SELECT reason, at, until, slots FROM transitions WHERE from_status = to_status ORDER BY id',
    );

  test('are kept as intervals: a region that fails every other slot adds no row per slot', async () => {
    const begun = await period('passed');
    for (let slots = 0; slots < 40; slots += 1) {
      await it.slot(1, { [C]: slots % 2 === 0 ? 'failed' : 'passed', [A]: 'passed', [B]: 'passed' });
      await it.pass(PERIOD);
    }
    const rows = await intervals();
    expect(rows.map(({ reason }) => reason)).toEqual(['minority-failed', 'all-passed']);
    expect(rows[0]).toMatchObject({ at: begun + PERIOD, until: begun + 39 * PERIOD, slots: 20 });
  });

  test('begin a new interval when they come back after more than an hour', async () => {
    await period('passed');
    await it.slot(1, { [C]: 'failed', [A]: 'passed', [B]: 'passed' });
    await it.pass(PERIOD);
    for (let slots = 0; slots < 121; slots += 1) await period('passed');
    await it.slot(1, { [C]: 'failed', [A]: 'passed', [B]: 'passed' });
    const reasons = (await intervals()).map(({ reason }) => reason);
    expect(reasons).toEqual(['minority-failed', 'all-passed', 'minority-failed']);
  });

  test('are written up to their end when the status changes', async () => {
    await period('passed');
    for (let slots = 0; slots < 3; slots += 1) {
      await it.slot(1, { [C]: 'failed', [A]: 'passed', [B]: 'passed' });
      await it.pass(PERIOD);
    }
    await period('failed');
    expect(await intervals()).toMatchObject([{ reason: 'minority-failed', slots: 3 }]);
  });
});

describe('a hold', () => {
  beforeEach(() => {
    it.isHeld = () => true;
  });
  const end = async () => {
    it.isHeld = () => false;
    it.recorder.announceStatuses([1]);
    await it.recorder.flushed();
  };

  test('a channel with an announced incident gets the next one under the same key', async () => {
    it.isHeld = () => false;
    await period('failed');
    it.isHeld = () => true;
    await period('passed');
    await period('degraded');
    await end();
    await period('passed');
    expect(told().map(([, status]) => status)).toEqual([
      ...['error', 'error', 'degraded', 'degraded', 'recovered', 'recovered'],
    ]);
    expect(new Set(it.enqueued.map(({ alert }) => alert.incident)).size).toBe(1);
  });
});

test('a state is written with each report, and not for a slot that is only dispatched', async () => {
  await period('passed');
  const written = async () => (await it.rows('SELECT votes, open_slots FROM monitor_votes'))[0];
  const before = await written();
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await it.recorder.flushed();
  expect(await written()).toEqual(before);
  const seen = new Set<string>();
  for (const region of THREE) {
    await it.report(1, slot, region, 'passed');
    seen.add(JSON.stringify(await written()));
  }
  expect(seen.size).toBe(3);
});

describe('restarts', () => {
  test('in the first slot: it waits for regions that have not reported', async () => {
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'failed');
    await it.recorder.stop();
    await it.restart();
    await it.report(1, slot, B, 'passed');
    expect(it.status(1) ?? 'unknown').toBe('unknown');
    await it.report(1, slot, C, 'passed');
    expect(it.status(1)).toBe('active');
    expect(told()).toEqual([]);
  });

  test('an undecided slot for which no agent works any more is decided with its reports', async () => {
    await period('passed');
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'failed');
    await it.recorder.stop();
    await it.restart();
    it.recorder.endResumption();
    await it.recorder.flushed();
    expect(it.states.get(1)?.decidedSlot).toBe(slot);
    expect(it.status(1)).toBe('active');
  });

  test('without a report of dispatch it continues by itself', async () => {
    await period('passed');
    await it.recorder.stop();
    await it.restart();
    await it.pass(40_000 + 3 * PERIOD);
    expect(it.status(1)).toBe('unknown');
  });
});

test('a result that itself cannot be recorded is set aside, and the others are recorded', async () => {
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  const message = it.message(1, slot, A, { outcome: 'passed' });
  const [good] = message.results;
  if (good === undefined) throw new Error('no result');
  const bad = { ...good, slot: null as unknown as number };
  void it.recorder.recordMessage({ ...message, results: [bad, good] });
  await it.report(1, slot, B, 'passed');
  expect(it.recorder.dropped.unrecordable).toBe(1);
  expect(await it.results()).toHaveLength(2);
  expect(it.status(1)).toBe('active');
  expect(await it.rows('SELECT sequence FROM stream_positions')).toEqual([{ sequence: 2 }]);
});
