import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { settle } from '../../../../test/support/fake-clock.ts';
import { StoreError } from '../store/errors.ts';

const [A, B, C] = THREE as [Region, Region, Region];

let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  await it.declare(liveMonitor(1));
  await it.channel(10, 'webhook', [1]);
  it.recorder.endResumption();
});

afterEach(() => it.dispose());

const all = (outcome: Outcome) => ({ [A]: outcome, [B]: outcome, [C]: outcome });

async function inStatus(outcome: Outcome): Promise<void> {
  await it.slot(1, all(outcome));
  await it.pass(PERIOD);
}

test('down, slow and back: one error, one degraded, one recovered, in order', async () => {
  await inStatus('passed');
  const down = await it.slot(1, {
    [A]: { outcome: 'failed', error_message: 'refused' },
    [B]: { outcome: 'failed', error_message: 'refused' },
    [C]: 'failed',
  });
  await it.pass(PERIOD);
  await inStatus('failed');
  await inStatus('degraded');
  await inStatus('degraded');
  await it.slot(1, all('passed'));
  await it.pass(PERIOD);

  expect(it.alerts()).toEqual(['error', 'degraded', 'recovered']);
  const alerts = it.enqueued.map(({ alert }) => alert);
  expect(alerts[0]).toMatchObject({ cronTimestamp: down, errorMessage: 'refused', latency: 12.5 });
  expect(new Set(alerts.map((alert) => alert.incident)).size).toBe(1);
  expect(it.changes.map(({ from, to, reason }) => [from, to, reason])).toEqual([
    ['unknown', 'active', 'all-passed'],
    ['active', 'error', 'majority-failed'],
    ['error', 'degraded', 'majority-degraded'],
    // Two regions passed, so the third region cannot change the status. Its earlier
    // vote stays until the next slot.
    ['degraded', 'active', 'minority-degraded'],
  ]);
  const incidents = await it.rows<{ closed_at: number | null }>('SELECT * FROM incidents');
  expect(incidents).toHaveLength(1);
  expect(incidents[0]?.closed_at).not.toBeNull();
  expect(await it.rows('SELECT announced, incident FROM links')).toEqual([
    { announced: 'active', incident: null },
  ]);
});

test('alerts have the beginning of the incident, even after a restart, and the threshold of the monitor', async () => {
  it.monitors.set(liveMonitor(1, { degradedAtMs: 800 }));
  await inStatus('passed');
  await inStatus('failed');
  await it.restart();
  await inStatus('degraded');
  await it.restart();
  await inStatus('passed');
  await inStatus('passed');
  const alerts = it.enqueued.map(({ alert }) => alert);
  expect(alerts.map(({ status }) => status)).toEqual(['error', 'degraded', 'recovered']);
  const since = alerts[0]?.at;
  for (const alert of alerts) expect(alert).toMatchObject({ since, degradedAt: 800 });
  expect(alerts[2]?.at).toBeGreaterThan(since ?? 0);
});

test('down in one of three regions: no alert, and the history has the reason', async () => {
  await inStatus('passed');
  await it.slot(1, { [C]: 'failed', [A]: 'passed', [B]: 'passed' });
  await it.pass(PERIOD);
  expect(it.alerts()).toEqual([]);
  const rows = await it.rows<{ from_status: string; to_status: string; reason: string; votes: string }>(
    'SELECT * FROM transitions ORDER BY id',
  );
  expect(rows.at(-1)).toMatchObject({
    from_status: 'active',
    to_status: 'active',
    reason: 'minority-failed',
  });
  const votes = JSON.parse(rows.at(-1)?.votes ?? '[]') as {
    region: string;
    outcome: string;
    counted: boolean;
  }[];
  expect(votes.find((vote) => vote.region === C)).toMatchObject({ outcome: 'failed', counted: true });
  expect(it.changes).toHaveLength(1);
});

test('an alert and the history show what each region said last, with the slot that it is about', async () => {
  const up = await it.slot(1, { [A]: 'passed', [B]: 'passed', [C]: 'passed' });
  await it.pass(PERIOD);
  const down = await it.slot(1, { [A]: 'failed', [C]: 'not_run', [B]: 'failed' });
  const said = [
    { region: A, outcome: 'failed', slot: down },
    { region: B, outcome: 'failed', slot: down },
    { region: C, outcome: 'passed', slot: up },
  ];
  const byRegion = (one: { region: string }, other: { region: string }) =>
    one.region < other.region ? -1 : 1;
  expect(it.enqueued[0]?.alert.regions.toSorted(byRegion)).toEqual(said.toSorted(byRegion));
  const [row] = await it.rows<{ votes: string }>("SELECT votes FROM transitions WHERE to_status = 'error'");
  const votes = JSON.parse(row?.votes ?? '[]') as { region: string; outcome: string; slot: number }[];
  expect(votes.toSorted(byRegion)).toMatchObject(said.toSorted(byRegion));
});

test('a failed commit is tried again, and leaves nothing in memory or in the database', async () => {
  await inStatus('passed');
  it.commitFailure = new StoreError('store-full', 'in the middle of the transaction');
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  for (const region of THREE)
    void it.recorder.recordMessage(it.message(1, slot, region, { outcome: 'failed' }));
  await it.clock.advanceSettling(2_000);
  expect(it.recorder.isFailing).toBe(true);
  expect(it.status(1)).toBe('active');
  expect((await it.results()).filter((result) => result.slot === slot)).toEqual([]);
  it.commitFailure = null;
  await it.clock.advanceSettling(5_000);
  await it.recorder.flushed();
  expect(it.recorder.isFailing).toBe(false);
  expect(it.alerts()).toEqual(['error']);
  expect((await it.results()).filter((result) => result.slot === slot)).toHaveLength(3);
});

test('after a listener fails, nothing is recorded or announced a second time', async () => {
  await inStatus('passed');
  it.recorder.onTransition(() => {
    throw new TypeError('a defect');
  });
  await inStatus('failed');
  await inStatus('passed');
  expect(it.alerts()).toEqual(['error', 'recovered']);
  expect(await it.rows('SELECT 1 FROM deliveries')).toHaveLength(2);
  expect(it.recorder.counts.duplicates).toBe(0);
});

test('a job that was given back is offered again only after the commit', async () => {
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  it.isOfferedAgain = () => true;
  it.commitFailure = new StoreError('store-full', 'no space');
  void it.recorder.recordMessage(it.message(1, slot, A, { outcome: 'not_run', reason: 'shutting-down' }));
  await it.clock.advanceSettling(2_000);
  await expect.poll(() => it.recorder.isFailing).toBe(true);
  expect(it.outcomes).toEqual([]);
  it.commitFailure = null;
  await it.clock.advanceSettling(5_000);
  await it.recorder.flushed();
  expect(it.outcomes).toMatchObject([{ slot, region: A, is: 'given-back' }]);
});

test("a result that differs from its region's last vote waits for no others, and an equal one waits for 250 ms", async () => {
  await inStatus('passed');
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  const waiting = (): number => it.recorder.backlog.events;
  const committed = (): Promise<void> =>
    new Promise((resolve) => {
      const stop = it.recorder.onPosition(() => {
        stop();
        resolve();
      });
    });
  void it.recorder.recordMessage(it.message(1, slot, A, { outcome: 'passed' }));
  it.clock.advance(249);
  await settle();
  expect(waiting()).toBe(2);
  const first = committed();
  it.clock.advance(1);
  await first;
  void it.recorder.recordMessage(it.message(1, slot, C, { outcome: 'passed' }));
  await settle();
  expect(waiting()).toBe(1);
  const second = committed();
  void it.recorder.recordMessage(it.message(1, slot, B, { outcome: 'failed' }));
  await second;
  expect(it.recorder.counts.results).toBe(6);
});

test('in a region without a vote, a pass waits for others, and a failure does not', async () => {
  const slot = it.clock.wall();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  void it.recorder.recordMessage(it.message(1, slot, A, { outcome: 'passed' }));
  it.clock.advance(249);
  await settle();
  expect(it.recorder.counts.results).toBe(0);
  const committed = new Promise<void>((resolve) => it.recorder.onPosition(() => resolve()));
  void it.recorder.recordMessage(it.message(1, slot, B, { outcome: 'failed' }));
  await committed;
  expect(it.recorder.counts.results).toBe(2);
});

test('the number of waiting events of dispatch is bounded while the database accepts no writes', async () => {
  await it.recorder.flushed();
  it.commitFailure = new StoreError('store-full', 'no space');
  const monitor = liveMonitor(1);
  const slot = it.clock.wall();
  for (let event = 0; event < 200_001; event += 1) it.recorder.skipped(monitor, slot, A);
  await settle();
  expect(it.recorder.backlog.events).toBe(200_000);
  expect(it.recorder.dropped['event-overflow']).toBe(1);
});

describe('after a restart', () => {
  test('nothing is announced twice, and the incident continues', async () => {
    await inStatus('passed');
    await inStatus('failed');
    await it.restart();
    it.recorder.endResumption();
    await inStatus('failed');
    await inStatus('passed');
    expect(it.alerts()).toEqual(['error', 'recovered']);
    expect(new Set(it.enqueued.map(({ alert }) => alert.incident)).size).toBe(1);
  });

  test('an undecided slot is open again, and waits for regions that are still at work', async () => {
    await inStatus('passed');
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, A, 'failed');
    await it.restart();
    expect(it.states.get(1)?.open).toMatchObject([{ slot, isGivenKnown: false }]);
    it.recorder.opened(liveMonitor(1), slot, [B, C]);
    it.recorder.endResumption();
    await it.report(1, slot, B, 'failed');
    expect(it.alerts()).toEqual(['error']);
  });
});

test('dispatch gets no duration of a failure, because the agent may have held the report back', async () => {
  const attempts = [{ outcome: 'passed', started_ms: 300, latency: 20 }] as const;
  await it.report(1, it.clock.wall(), A, { outcome: 'passed', attempts: [...attempts] });
  await it.report(1, it.clock.wall(), B, 'failed');
  await it.report(1, it.clock.wall(), C, { outcome: 'not_run', reason: 'overloaded' });
  expect(it.arrivals.map(([, , region, tookMs]) => [region, tookMs])).toEqual([
    [A, 320],
    [B, null],
  ]);
});

describe('a second result of a region about a slot is not new', () => {
  test.each([
    ['came before the region was removed', true],
    ['came while the region was removed', false],
  ])('if the region is declared again, and the first result %s', async (_name, isBefore) => {
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    if (isBefore) await it.report(1, slot, C, 'passed');
    await it.declare(liveMonitor(1, { regions: [A, B] }));
    if (!isBefore) await it.report(1, slot, C, 'passed');
    await it.declare(liveMonitor(1));
    await it.report(1, slot, C, 'passed');
    expect(it.recorder.counts).toMatchObject({ results: 2, duplicates: 1 });
  });

  test('if its region is declared again, and got the slot before dispatch knew of the removal', async () => {
    const slot = it.clock.wall();
    await it.declare(liveMonitor(1, { regions: [A] }));
    it.recorder.opened(liveMonitor(1), slot, [B, C]);
    for (const region of [B, C]) await it.report(1, slot, region, 'passed');
    await it.declare(liveMonitor(1));
    await it.report(1, slot, B, 'failed');
    expect(it.recorder.counts).toMatchObject({ results: 3, duplicates: 1 });
    expect(it.status(1)).toBe('unknown');
  });

  test('if it comes right after dispatch has given the region up', async () => {
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    await it.report(1, slot, C, 'passed');
    await it.report(1, slot, A, 'passed');
    it.recorder.abstained(liveMonitor(1), slot, C, 'no-agent');
    await it.report(1, slot, C, 'failed');
    expect(it.recorder.counts).toMatchObject({ results: 3, duplicates: 1 });
  });
});
