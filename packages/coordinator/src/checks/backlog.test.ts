import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { BacklogHold } from './backlog-hold.ts';

/** Number of periods for which the uplink was gone. */
const GONE = 30;

let it: Recording;
let hold: BacklogHold;

beforeEach(async () => {
  it = await Recording.open();
  startHold();
  await it.declare(liveMonitor(1));
  await it.channel(10, 'webhook', [1]);
  it.recorder.endResumption();
  await it.slot(1, Object.fromEntries(THREE.map((region: Region) => [region, 'passed'])));
});

function startHold(): void {
  const { clock, slotClock } = it;
  hold = new BacklogHold({ clock, slotClock });
  it.onRead = (results) => hold.holdBacklog(results);
  it.isHeld = (monitorId) => hold.isHeld(monitorId);
  hold.start((ids) => it.recorder.announceStatuses(ids));
}

afterEach(async () => {
  hold.stop();
  await it.dispose();
});

/**
 * Lets {@link GONE} periods pass without a result, reads the results of these periods
 * in the order of time, and lets the hold end.
 */
async function readBacklog(outcomeOf: (periodsAgo: number) => Outcome): Promise<void> {
  await it.pass(GONE * PERIOD);
  const now = it.clock.wall();
  for (let ago = GONE - 1; ago >= 0; ago -= 1) {
    for (const region of THREE) await it.report(1, now - ago * PERIOD, region, outcomeOf(ago));
  }
  await it.pass(5_000);
}

const recorded = async () => (await it.results()).length;

test('an outage that begins and ends within the backlog is recorded, without an alert', async () => {
  await readBacklog((ago) => (ago > 2 && ago < 20 ? 'failed' : 'passed'));
  expect(it.status(1)).toBe('active');
  expect(it.alerts()).toEqual([]);
  expect(await recorded()).toBe((GONE + 1) * THREE.length);
});

test('an outage in the backlog whose results still become votes sends no alert either', async () => {
  await readBacklog((ago) => (ago === 2 ? 'failed' : 'passed'));
  expect(it.changes.map(({ to }) => to)).toContain('error');
  expect(it.status(1)).toBe('active');
  expect(it.alerts()).toEqual([]);
});

test('a status that still holds at the end of the backlog is announced once', async () => {
  await readBacklog((ago) => (ago < 20 && ago % 7 !== 3 ? 'failed' : 'passed'));
  expect(it.status(1)).toBe('error');
  expect(it.alerts()).toEqual(['error']);
});

test('a change after the backlog is announced at once', async () => {
  await readBacklog(() => 'passed');
  await it.slot(1, Object.fromEntries(THREE.map((region: Region) => [region, 'failed'])));
  expect(it.alerts()).toEqual(['error']);
});

test.each([
  ['an outage that ends in its rest is not announced', 'passed', 'active', []],
  ['an outage that lasts to its end is announced once', 'failed', 'error', ['error']],
] as const)('after a restart in the middle of the backlog, %s', async (_what, rest, status, alerts) => {
  await it.pass(GONE * PERIOD);
  const now = it.clock.wall();
  const read = async (ago: number, outcome: Outcome) => {
    for (const region of THREE) await it.report(1, now - ago * PERIOD, region, outcome);
  };
  for (const ago of [6, 5, 4, 3]) await read(ago, 'failed');
  expect(it.status(1)).toBe('error');
  hold.stop();
  await it.recorder.stop();
  await it.restart();
  startHold();
  await it.pass(5_000);
  expect(it.alerts()).toEqual([]);
  for (const ago of [2, 1, 0]) await read(ago, rest);
  it.recorder.endResumption();
  await it.pass(5_000);
  expect(it.status(1)).toBe(status);
  expect(it.alerts()).toEqual(alerts);
});
