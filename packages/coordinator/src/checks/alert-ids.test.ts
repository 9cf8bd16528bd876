import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import type { ResultMessage } from './events.ts';

const [A, B, C] = THREE as [(typeof THREE)[0], (typeof THREE)[0], (typeof THREE)[0]];

let it: Recording;

beforeEach(async () => {
  it = await Recording.open();
  it.recorder.endResumption();
  await it.declare(liveMonitor(1));
  await it.channel(10, 'webhook', [1]);
});
afterEach(() => it.dispose());

type Outcomes = 'passed' | 'degraded' | 'failed';

async function period(outcome: Outcomes): Promise<void> {
  await it.slot(1, { [A]: outcome, [B]: outcome, [C]: outcome });
  await it.pass(PERIOD);
}

const uids = () => it.enqueued.map(({ uid }) => uid);
const isEachOnce = (values: readonly unknown[]) => new Set(values).size === values.length;
const incidents = async () =>
  (await it.rows<{ key: string }>('SELECT key FROM incidents ORDER BY id')).map(({ key }) => key);

describe('each alert has an id of its own', () => {
  test('in an incident that changes its status and comes back to it', async () => {
    for (const outcome of ['passed', 'failed', 'degraded', 'failed', 'passed'] as const)
      await period(outcome);
    expect(it.alerts()).toEqual(['error', 'degraded', 'error', 'recovered']);
    expect(isEachOnce(uids())).toBe(true);
    expect(await incidents()).toHaveLength(1);
  });

  test('where a channel is linked again, or becomes one of another kind, while a status lasts', async () => {
    for (const outcome of ['passed', 'failed'] as const) await period(outcome);
    await it.unlink(1, 10);
    await it.link(1, 10, 'webhook');
    await it.changeKind(10, 'incident_a');
    await it.changeKind(10, 'webhook');
    expect(it.alerts()).toEqual(['error', 'error', 'error', 'error']);
    expect(isEachOnce(uids())).toBe(true);
  });

  test('where people end what one slot began, and begin it again', async () => {
    await it.slot(1, { [A]: 'failed', [B]: 'failed', [C]: 'passed' });
    await it.declare(liveMonitor(1, { regions: [B, C] }));
    await it.declare(liveMonitor(1, { regions: [B] }));
    expect(it.alerts()).toEqual(['error', 'recovered', 'error']);
    expect(isEachOnce(uids())).toBe(true);
    const keys = await incidents();
    expect(keys).toHaveLength(2);
    expect(isEachOnce(keys)).toBe(true);
  });
});

test('a database that lost its last commits makes the same incidents and alerts of the same reports', async () => {
  await period('passed');
  await it.copy();
  const messages: ResultMessage[] = [];
  for (const outcome of ['failed', 'degraded', 'failed', 'passed', 'failed'] as const) {
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    for (const region of THREE) messages.push(it.message(1, slot, region, { outcome }));
    for (const message of messages.slice(-THREE.length)) void it.recorder.recordMessage(message);
    await it.pass(PERIOD);
  }
  const [alerts, ids, keys] = [it.alerts(), uids(), await incidents()];
  expect(alerts).toEqual(['error', 'degraded', 'error', 'recovered', 'error']);

  it.enqueued.length = 0;
  await it.restartFromCopy();
  expect(await incidents()).toEqual([]);
  for (const message of messages) void it.recorder.recordMessage(message);
  await it.pass(1_000);
  it.recorder.endResumption();
  await it.pass(PERIOD);
  expect(await incidents()).toEqual(keys);
  expect(it.alerts()).toEqual(alerts);
  expect(uids()).toEqual(ids);
});
