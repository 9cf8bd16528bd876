import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';

/*
 * These tests check announcements about monitors under maintenance. The simulator
 * checks the same in random worlds.
 */

const [A, B, C] = THREE as [Region, Region, Region];
const all = (outcome: Outcome) => ({ [A]: outcome, [B]: outcome, [C]: outcome });

let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  await it.declare(liveMonitor(1));
  await it.channel(10, 'webhook', [1]);
  it.recorder.endResumption();
  await period('passed');
});

afterEach(() => it.dispose());

/** Passes a whole period in which all regions report this outcome. */
async function period(outcome: Outcome): Promise<void> {
  await it.slot(1, all(outcome));
  await it.pass(PERIOD);
}

const told = () => it.enqueued.map(({ alert }) => alert.status);
const now = () => it.clock.wall();

test('an outage that lasts past the window is announced when the window ends, before the next check', async () => {
  const end = now() + 2 * PERIOD + 5_000;
  await it.window([1], now(), end);
  await period('failed');
  await period('failed');
  expect(it.status(1)).toBe('error');
  expect(told()).toEqual([]);
  await it.pass(4_000);
  expect(told()).toEqual([]);
  await it.pass(2_000);
  expect(told()).toEqual(['error']);
  const [alert] = it.enqueued.map(({ alert }) => alert);
  // The alert says when the outage really began.
  expect(alert).toMatchObject({ at: end - 2 * PERIOD - 5_000, since: end - 2 * PERIOD - 5_000 });
  await period('passed');
  expect(told()).toEqual(['error', 'recovered']);
});

test('an incident that begins and ends in the window sends nothing', async () => {
  await it.window([1], now(), now() + 4 * PERIOD);
  await period('failed');
  await period('degraded');
  await period('passed');
  await it.pass(2 * PERIOD);
  await period('passed');
  expect(told()).toEqual([]);
  expect(await it.rows('SELECT key FROM incidents WHERE closed_at IS NOT NULL')).toHaveLength(1);
});

test('an incident that was announced before the window and ends in it is announced as recovered when the window ends', async () => {
  await period('failed');
  expect(told()).toEqual(['error']);
  await it.window([1], now(), now() + 2 * PERIOD);
  await period('passed');
  expect(told()).toEqual(['error']);
  await it.pass(PERIOD + 1_000);
  expect(told()).toEqual(['error', 'recovered']);
  const [first, second] = it.enqueued.map(({ alert }) => alert.incident);
  expect(second).toBe(first);
});

test('two windows that overlap hold as one', async () => {
  const start = now();
  await it.window([1], start, start + 2 * PERIOD);
  await it.window([1], start + PERIOD, start + 4 * PERIOD);
  await period('failed');
  await period('failed');
  await period('failed');
  expect(told()).toEqual([]);
  await it.pass(PERIOD + 1_000);
  expect(told()).toEqual(['error']);
});

test('other monitors are not held', async () => {
  await it.declare(liveMonitor(2));
  await it.link(2, 10, 'webhook');
  await it.window([1], now(), now() + PERIOD * 9);
  await it.slot(2, all('failed'));
  expect(told()).toEqual(['error']);
});

test('a window that is removed announces at once what it holds', async () => {
  const id = await it.window([1], now(), now() + PERIOD * 9);
  await period('failed');
  expect(told()).toEqual([]);
  await it.removeWindow(id);
  expect(told()).toEqual(['error']);
});

test('a window in the past holds nothing', async () => {
  await it.window([1], now() - 2 * PERIOD, now());
  await period('failed');
  expect(told()).toEqual(['error']);
});

test('a channel that is linked in a window gets the status when the window ends', async () => {
  await period('failed');
  await it.window([1], now(), now() + PERIOD);
  await it.channel(20, 'webhook', [1]);
  expect(told()).toEqual(['error']);
  await it.pass(PERIOD + 1_000);
  expect(it.enqueued.map(({ notificationId }) => notificationId)).toEqual([10, 20]);
});

test('a held announcement survives a restart in the window, and a restart over its end', async () => {
  const end = now() + 3 * PERIOD;
  await it.window([1], now(), end);
  await period('failed');
  await it.restart();
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(told()).toEqual([]);
  await period('failed');
  expect(told()).toEqual([]);
  it.clock.advance(end - now());
  await it.restart();
  // Nothing is announced before the earlier reports are read, because they may contain the recovery.
  await it.pass(2_000);
  expect(told()).toEqual([]);
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(told()).toEqual(['error']);
});

test('when a window ends during the start, nothing is announced before the earlier reports are read', async () => {
  const end = now() + 2 * PERIOD;
  await it.window([1], now(), end);
  await period('failed');
  it.clock.advance(end - now() - 1_000);
  await it.restart();
  await it.pass(2_000);
  expect(told()).toEqual([]);
  for (const region of THREE) await it.report(1, now() - 3_000, region, 'passed');
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(told()).toEqual([]);
});

test('a start after the votes have expired does not announce what a window held', async () => {
  const end = now() + 2 * PERIOD;
  await it.window([1], now(), end);
  await period('failed');
  it.clock.advance(9 * PERIOD);
  await it.restart();
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(it.status(1)).toBe('unknown');
  expect(told()).toEqual([]);
  await period('failed');
  expect(told()).toEqual(['error']);
});

test('a status that is unknown at the end of the window is not announced, and the next one is', async () => {
  await period('failed');
  await it.window([1], now(), now() + 20 * PERIOD);
  await period('passed');
  await it.pass(20 * PERIOD);
  expect(it.status(1)).toBe('unknown');
  expect(told()).toEqual(['error']);
  await period('passed');
  expect(told()).toEqual(['error', 'recovered']);
});

test('the end of a window a month ahead is noticed', async () => {
  const day = 86_400_000;
  await it.window([1], now(), now() + 30 * day);
  await it.pass(1_000);
  for (let index = 0; index < 30; index += 1) it.clock.advance(day - 2_000);
  await it.recorder.flushed();
  await period('failed');
  expect(told()).toEqual([]);
  await it.pass(31_000);
  expect(it.status(1)).toBe('error');
  expect(told()).toEqual(['error']);
});

test('a window that ends while its change is written announces what it holds', async () => {
  const id = await it.window([1], now(), now() + PERIOD * 9);
  await period('failed');
  // People end a window by the system's clock, which is a little ahead of the slots' clock.
  it.duringNextWrite = () => it.clock.advance(500);
  await it.endWindow(id, now() + 200);
  await it.pass(1_000);
  expect(told()).toEqual(['error']);
});

test('a window that ends in a start announces what is written at that moment', async () => {
  const end = now() + PERIOD;
  await it.window([1], now(), end);
  it.clock.advance(end - now() - 1_000);
  await it.restart();
  const slot = now() - 3_000;
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await it.report(1, slot, A, 'failed');
  it.duringNextWrite = () => {
    it.clock.advance(2_000);
    it.recorder.endResumption();
  };
  await it.report(1, slot, B, 'failed');
  expect(it.status(1)).toBe('error');
  await it.pass(1_000);
  expect(told()).toEqual(['error']);
});

test('a window that is removed in a start announces what is written together with its removal', async () => {
  const id = await it.window([1], now(), now() + PERIOD * 9);
  await it.restart();
  const slot = now();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  it.duringNextWrite = () => {
    void it.recorder.recordMessage(it.message(1, slot, B, { outcome: 'failed' }));
    void it.recorder.declare([{ kind: 'maintenance', windowId: id, window: null }], 0);
    it.duringNextWrite = () => it.recorder.endResumption();
  };
  await it.report(1, slot, A, 'failed');
  await it.pass(1_000);
  expect(it.status(1)).toBe('error');
  expect(told()).toEqual(['error']);
});

test('a window that is removed before the slots of a start are named announces what it held', async () => {
  const id = await it.window([1], now(), now() + PERIOD * 9);
  const slot = now();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await it.report(1, slot, A, 'failed');
  await it.restart();
  it.duringNextWrite = () => {
    void it.recorder.recordMessage(it.message(1, slot, B, { outcome: 'failed' }));
    void it.recorder.declare([{ kind: 'maintenance', windowId: id, window: null }], 0);
    it.recorder.endResumption();
  };
  await it.declare(liveMonitor(2));
  await it.pass(1_000);
  expect(it.status(1)).toBe('error');
  expect(told()).toEqual(['error']);
});

test('a start that still waits for a slot after the votes have expired does not announce what a removed window held', async () => {
  const id = await it.window([1], now(), now() + PERIOD * 9);
  await it.slot(1, all('failed'));
  await it.pass(3 * PERIOD - 1_000);
  const slot = now();
  it.recorder.opened(liveMonitor(1), slot, THREE);
  await it.report(1, slot, A, 'failed');
  it.clock.advance(3_000);
  await it.restart();
  await it.removeWindow(id);
  it.recorder.opened(liveMonitor(1), slot, [B, C]);
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(it.status(1)).toBe('unknown');
  expect(told()).toEqual([]);
});

test('subscribers of pages wait like channels: for the window, for a backlog, and for the reports from before a start', async () => {
  expect(it.recorder.holdsNews(1)).toBe(false);
  const end = now() + PERIOD;
  await it.window([1], now(), end);
  expect(it.recorder.holdsNews(1)).toBe(true);
  it.clock.advance(end - now());
  await it.restart();
  expect(it.recorder.holdsNews(1)).toBe(true);
  it.recorder.endResumption();
  await it.recorder.flushed();
  expect(it.recorder.holdsNews(1)).toBe(false);
  it.isHeld = () => true;
  expect(it.recorder.holdsNews(1)).toBe(true);
});

test('a muted monitor sends nothing; the end of the mute announces the status that the monitor then has', async () => {
  await it.mute(1, now() + 2 * PERIOD + 5_000);
  await period('failed');
  await period('failed');
  expect(it.status(1)).toBe('error');
  expect(told()).toEqual([]);
  await it.pass(6_000);
  expect(told()).toEqual(['error']);
});

test('an incident within a mute sends nothing; the recovery of an earlier one is announced when the mute ends', async () => {
  await it.mute(1, now() + 2 * PERIOD);
  await period('failed');
  await period('passed');
  expect(told()).toEqual([]);
  await period('failed');
  expect(told()).toEqual(['error']);
  await it.mute(1, now() + 2 * PERIOD);
  await period('passed');
  expect(told()).toEqual(['error']);
  await it.pass(PERIOD + 1_000);
  expect(told()).toEqual(['error', 'recovered']);
});

test('a mute that is ended, or set to end earlier, announces what it holds', async () => {
  await it.mute(1, now() + 9 * PERIOD);
  await period('failed');
  await it.mute(1, null);
  expect(told()).toEqual(['error']);
  await it.mute(1, now() + 9 * PERIOD);
  await period('passed');
  await it.mute(1, now() + 1_000);
  expect(told()).toEqual(['error']);
  await it.pass(2_000);
  expect(told()).toEqual(['error', 'recovered']);
});

test('a mute and a window that overlap hold as one, and a mute survives a restart', async () => {
  const start = now();
  await it.mute(1, start + 4 * PERIOD);
  await it.window([1], start, start + 2 * PERIOD);
  await period('failed');
  await it.restart();
  it.recorder.endResumption();
  await period('failed');
  await period('failed');
  expect(told()).toEqual([]);
  await it.pass(PERIOD + 1_000);
  expect(told()).toEqual(['error']);
});

test('a mute holds no news of status pages, which show the monitor as it is', async () => {
  await it.mute(1, now() + PERIOD);
  expect(it.recorder.holdsNews(1)).toBe(false);
});
