import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';

/*
 * These tests check the effects of a start on an open incident, and on announcements
 * that an earlier process held back.
 */

const [A, B, C] = THREE as [Region, Region, Region];
const HOUR = 3_600_000;
const all = (outcome: Outcome) => Object.fromEntries(THREE.map((region: Region) => [region, outcome]));
let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  await it.declare(liveMonitor(1));
  await it.channel(10, 'webhook', [1]);
  it.recorder.endResumption();
});
afterEach(() => it.dispose());

async function period(outcome: Outcome): Promise<void> {
  await it.slot(1, all(outcome));
  await it.pass(PERIOD);
}

const incidents = () =>
  it.rows<{ key: string; opened_at: number; closed_at: number | null }>('SELECT * FROM incidents');

describe('a status whose votes a start sets aside', () => {
  beforeEach(async () => {
    it.clock.advance(HOUR);
    await period('passed');
    await period('failed');
    await it.recorder.stop();
    it.clock.stepWall(-HOUR);
    await it.restart();
  });

  test.each([
    ['recovers once', ['failed', 'passed', 'passed'], ['error', 'recovered']],
    ['stays one', ['failed', 'failed'], ['error']],
    ['becomes degraded, and recovers', ['degraded', 'passed'], ['error', 'degraded', 'recovered']],
  ] as const)('leaves an incident open, which %s', async (_, outcomes, alerts) => {
    it.recorder.endResumption();
    await it.recorder.flushed();
    await it.recorder.flushed();
    expect(it.status(1)).toBe('unknown');
    await it.pass(35_000);
    expect(it.alerts()).toEqual(['error']);
    for (const outcome of outcomes) await period(outcome);
    expect(it.alerts()).toEqual(alerts);
    expect(new Set(it.enqueued.map(({ alert }) => alert.incident)).size).toBe(1);
    const isOver = outcomes.at(-1) === 'passed';
    expect((await incidents()).map(({ closed_at }) => closed_at !== null)).toEqual([isOver]);
  });

  test('recovers once if the first results are recorded in the same batch as the end of the start', async () => {
    const slot = it.clock.wall();
    it.recorder.endResumption();
    for (const region of THREE)
      void it.recorder.recordMessage(it.message(1, slot, region, { outcome: 'passed' }));
    await it.recorder.flushed();
    await it.pass(PERIOD);
    expect(it.alerts()).toEqual(['error', 'recovered']);
    expect((await incidents()).map(({ closed_at }) => closed_at !== null)).toEqual([true]);
  });

  test.each([1, 2])('has an incident that begins no later than it ends, after %i starts', async (starts) => {
    for (let start = 1; start < starts; start += 1) {
      it.recorder.endResumption();
      await it.recorder.flushed();
      await it.restart();
    }
    const startedAt = it.clock.wall();
    it.recorder.endResumption();
    for (let slot = 0; slot < 2; slot += 1) await period('passed');
    const [incident] = await incidents();
    expect(incident?.opened_at).toBeLessThanOrEqual(incident?.closed_at as number);
    expect(it.enqueued.at(-1)?.alert).toMatchObject({ status: 'recovered' });
    expect(it.enqueued.at(-1)?.alert.since).toBeLessThanOrEqual(startedAt);
  });

  test('keeps its incident over further crashes', async () => {
    for (let life = 0; life < 3; life += 1) {
      it.recorder.endResumption();
      await it.recorder.flushed();
      await it.restart();
    }
    it.recorder.endResumption();
    await period('passed');
    await period('passed');
    expect(it.alerts()).toEqual(['error', 'recovered']);
    expect(await incidents()).toHaveLength(1);
  });
});

describe('an announcement that an earlier process held back', () => {
  beforeEach(async () => {
    await period('passed');
    it.isHeld = () => true;
    await period('failed');
    expect(it.status(1)).toBe('error');
    expect(it.alerts()).toEqual([]);
    await it.restart();
    it.isHeld = () => false;
  });

  test('is made once, however often the end of the start is reported', async () => {
    await it.pass(5_000);
    expect(it.alerts()).toEqual([]);
    it.recorder.endResumption();
    it.recorder.endResumption();
    await it.pass(40_000);
    expect(it.alerts()).toEqual(['error']);
    await it.restart();
    it.recorder.endResumption();
    await it.pass(40_000);
    expect(it.alerts()).toEqual(['error']);
  });

  test('is not made at the end of a hold while earlier reports are unread', async () => {
    it.recorder.announceStatuses([1]);
    await it.pass(1_000);
    expect(it.alerts()).toEqual([]);
    for (const region of THREE) await it.report(1, it.clock.wall(), region, 'passed');
    it.recorder.endResumption();
    await it.pass(40_000);
    expect(it.status(1)).toBe('active');
    expect(it.alerts()).toEqual([]);
  });

  test('is made two minutes later if the end of the start is not reported', async () => {
    await it.declare(liveMonitor(1, { periodMs: 10 * PERIOD }));
    await it.pass(119_000);
    expect(it.alerts()).toEqual([]);
    await it.pass(2_000);
    expect(it.alerts()).toEqual(['error']);
  });

  test('is made with the first slot that this process decides, and not with a late report before', async () => {
    const slot = it.clock.wall();
    await it.report(1, slot - 2 * PERIOD - 5_000, A, 'failed');
    expect(it.alerts()).toEqual([]);
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'failed');
    expect(it.alerts()).toEqual([]);
    for (const region of [B, C]) await it.report(1, slot, region, 'failed');
    expect(it.alerts()).toEqual(['error']);
  });

  test('is made by the next process if this one ends before the commit', async () => {
    it.recorder.endResumption();
    await it.restart();
    it.recorder.endResumption();
    await it.pass(1_000);
    const told = (await it.rows<{ n: number }>('SELECT count(*) AS n FROM deliveries'))[0]?.n;
    expect(told).toBe(1);
  });

  test('is not made if the incident is over by then', async () => {
    for (const region of THREE) await it.report(1, it.clock.wall(), region, 'passed');
    it.recorder.endResumption();
    await it.pass(40_000);
    expect(it.status(1)).toBe('active');
    expect(it.alerts()).toEqual([]);
  });
});

test('a channel that gets an incident in a start, and is unlinked meanwhile, gets the end of the incident', async () => {
  await it.channel(20, 'incident_a', [1]);
  await period('passed');
  await it.restart();
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  for (const region of THREE)
    void it.recorder.recordMessage(it.message(1, slot, region, { outcome: 'failed' }));
  // The row of the link changes before the status that follows from the reports is written.
  const link = {
    notificationId: 20,
    providerType: 'incident_a',
    version: 1,
    announced: 'active',
    incident: null,
  } as const;
  void it.recorder.declare([{ kind: 'unlinked', monitorId: 1, notificationId: 20, link }], 0);
  await it.recorder.flushed();
  const alerts = it.enqueued.filter(({ notificationId }) => notificationId === 20);
  expect(alerts.map(({ alert }) => [alert.status, alert.closure])).toEqual([
    ['error', undefined],
    ['recovered', 'channel-unlinked'],
  ]);
});

test('a channel that is linked while no process runs gets an incident only after the earlier reports are read', async () => {
  await period('passed');
  await period('failed');
  await it.recorder.stop();
  it.clock.advance(HOUR);
  await it.restart();
  await it.channel(20, 'webhook', [1]);
  await it.pass(1_000);
  const told = () => it.enqueued.filter(({ notificationId }) => notificationId === 20);
  expect(told()).toEqual([]);
  for (const region of THREE) await it.report(1, it.clock.wall(), region, 'passed');
  it.recorder.endResumption();
  await it.pass(35_000);
  expect(it.alerts()).toEqual(['error', 'recovered']);
  expect(told()).toEqual([]);
});

test('a channel that is linked while no process runs gets an incident that lasts', async () => {
  await period('passed');
  await period('failed');
  await it.restart();
  await it.channel(20, 'webhook', [1]);
  it.recorder.endResumption();
  await it.pass(1_000);
  expect(it.enqueued.map(({ notificationId, alert }) => [notificationId, alert.status])).toEqual([
    [10, 'error'],
    [20, 'error'],
  ]);
});

test('a channel that is linked while the slots of a start are named gets the incident', async () => {
  await period('passed');
  await period('failed');
  await it.restart();
  it.duringNextWrite = () => {
    it.recorder.opened(liveMonitor(1), it.clock.wall() - 1_000, THREE);
    it.recorder.endResumption();
    void it.channel(20, 'webhook', [1]);
  };
  await it.declare(liveMonitor(2));
  await it.pass(1_000);
  expect(it.enqueued.map(({ notificationId }) => notificationId)).toEqual([10, 20]);
});

describe('a channel that is linked again, and gets an incident before the link is known,', () => {
  const closed = ['recovered', 'channel-unlinked'];
  const active = {
    notificationId: 20,
    providerType: 'incident_a',
    version: 2,
    announced: 'active',
    incident: null,
  } as const;
  const unlinked = { kind: 'unlinked', monitorId: 1, notificationId: 20, link: active } as const;
  const linked = {
    ...({ kind: 'linked', monitorId: 1, providerType: 'incident_a' } as const),
    notificationId: 20,
    version: 3,
  };
  const told = () =>
    it.enqueued
      .filter(({ notificationId }) => notificationId === 20)
      .map(({ alert }) => [alert.status, alert.closure]);

  beforeEach(async () => {
    await it.channel(20, 'incident_a', [1]);
    await period('passed');
    await it.write('DELETE FROM links WHERE notification_id = 20');
    await it.write('INSERT INTO links (monitor_id, notification_id, version) VALUES (1, 20, 3)');
    await period('failed');
  });

  test('gets its end and the present incident after a start', async () => {
    await it.restart();
    await it.recorder.declare([unlinked, linked], 2);
    it.recorder.endResumption();
    await it.recorder.flushed();
    expect(told()).toEqual([['error', undefined], closed, ['error', undefined]]);
  });

  test('gets the present incident after a start, if it knew that the former one is over', async () => {
    await it.recorder.declare([unlinked], 1);
    await it.restart();
    await it.recorder.declare([linked], 2);
    it.recorder.endResumption();
    await it.recorder.flushed();
    expect(told()).toEqual([['error', undefined], closed, ['error', undefined]]);
  });
});

test('a channel of another kind gets an incident after a start, if the former kind got it before the change was known', async () => {
  await period('passed');
  await it.write("UPDATE notifications SET provider_type = 'incident_a' WHERE id = 10");
  await it.write("UPDATE links SET version = 2, announced = 'active', incident = NULL");
  await period('failed');
  expect(it.alerts()).toEqual(['error']);
  await it.restart();
  await it.recorder.declare(
    [{ kind: 'channel', notificationId: 10, providerType: 'incident_a', version: 2 }],
    1,
  );
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(it.alerts()).toEqual(['error', 'error']);
});
