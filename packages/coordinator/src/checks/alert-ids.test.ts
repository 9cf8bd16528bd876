import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import type { Link } from '../verdict/state.ts';
import type { ResultMessage } from './events.ts';

const [A, B, C] = THREE as [(typeof THREE)[0], (typeof THREE)[0], (typeof THREE)[0]];

let it: Recording;

async function begin(): Promise<void> {
  it = await Recording.open();
  it.recorder.endResumption();
  await it.declare(liveMonitor(1));
  await it.channel(10, 'webhook', [1]);
}

beforeEach(begin);
afterEach(() => it.dispose());

type Outcomes = 'passed' | 'degraded' | 'failed';

const FAILED: readonly Outcomes[] = ['failed', 'failed', 'failed'];

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

  test('where changes of the declaration end an incident, and begin another one from the same slot', async () => {
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

/** Records the reports of one slot after the other, and returns their messages. */
async function report(courses: readonly (readonly Outcomes[])[]): Promise<ResultMessage[]> {
  const messages: ResultMessage[] = [];
  for (const outcomes of courses) {
    const slot = it.clock.wall();
    it.recorder.opened(liveMonitor(1), slot, THREE);
    for (const [index, region] of THREE.entries()) {
      const message = it.message(1, slot, region, { outcome: outcomes[index] ?? 'passed' });
      messages.push(message);
      await it.recorder.recordMessage(message);
      await it.recorder.flushed();
    }
    await it.pass(PERIOD);
  }
  return messages;
}

/**
 * Starts from the copy of the database, and records the reports again.
 *
 * @param together maximum number of reports in a batch
 */
async function reportAgain(messages: readonly ResultMessage[], together: number): Promise<void> {
  it.enqueued.length = 0;
  await it.restartFromCopy();
  expect(await incidents()).toEqual([]);
  for (const [index, message] of messages.entries()) {
    void it.recorder.recordMessage(message);
    if (index % together === 0) await it.recorder.flushed();
  }
  await it.pass(1_000);
  it.recorder.endResumption();
  await it.pass(1_000);
}

describe('after a database has lost its last commits, the same reports make the same incidents and alerts', () => {
  beforeEach(async () => {
    await period('passed');
    await it.copy();
  });

  test('over several changes of status', async () => {
    const courses = (['failed', 'degraded', 'failed', 'passed', 'failed'] as const).map((each) =>
      THREE.map(() => each),
    );
    const messages = await report(courses);
    const [alerts, ids, keys] = [it.alerts(), uids(), await incidents()];
    expect(alerts).toEqual(['error', 'degraded', 'error', 'recovered', 'error']);
    await reportAgain(messages, messages.length);
    expect(await incidents()).toEqual(keys);
    expect(it.alerts()).toEqual(alerts);
    expect(uids()).toEqual(ids);
  });

  test('whatever regions report, and in whatever batches the reports are recorded again', async () => {
    const outcome = fc.constantFrom<Outcomes[]>('passed', 'failed', 'failed', 'degraded');
    const courses = fc.array(fc.tuple(outcome, outcome, outcome), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(courses, fc.integer({ min: 1, max: 9 }), async (outcomes, together) => {
        await it.dispose();
        await begin();
        await period('passed');
        await it.copy();
        const messages = await report(outcomes);
        const [status, ids, keys] = [it.status(1), uids(), await incidents()];
        await reportAgain(messages, together);
        expect(it.status(1)).toBe(status);
        expect(await incidents()).toEqual(keys);
        expect(uids()).toEqual(ids);
      }),
      // Copying a database takes some hundred times as long with PostgreSQL.
      { numRuns: IS_POSTGRES ? 5 : 20 },
    );
  });
});

test('a row of slots makes the same incident and alert again, even if another slot completes it', async () => {
  await it.declare(liveMonitor(1, { confirmAfter: 2 }));
  await period('passed');
  await it.copy();
  const messages = await report([FAILED, FAILED, FAILED]);
  const [ids, keys] = [uids(), await incidents()];
  expect(it.alerts()).toEqual(['error']);
  const [first, second, third] = [messages.slice(0, 3), messages.slice(3, 6), messages.slice(6)];
  await reportAgain([...first, ...third, ...second], 1);
  expect(it.alerts()).toEqual(['error']);
  expect(await incidents()).toEqual(keys);
  expect(uids()).toEqual(ids);
});

test('the alert about the end of a removed monitor’s incident has the same id with and without a state in memory', async () => {
  await it.channel(11, 'incident_a', [1]);
  await period('failed');
  const links = await it.rows<Link>(`SELECT notification_id AS "notificationId", version, announced, incident,
    'incident_a' AS "providerType" FROM links WHERE notification_id = 11`);
  const { name, target, type } = liveMonitor(1);
  const removed = { name, target, type, incident: links[0]?.incident ?? null, links };
  await it.write('DELETE FROM monitors WHERE id = 1');
  await it.copy();
  const remove = async () => {
    it.enqueued.length = 0;
    await it.recorder.declare([{ kind: 'monitor', monitorId: 1, monitor: null, removed }], 0);
    return it.enqueued.map(({ uid, alert: { closure } }) => ({ uid, closure }));
  };
  const known = await remove();
  expect(known).toMatchObject([{ closure: 'monitor-deleted' }]);
  await it.restartFromCopy();
  expect(it.states.get(1)).toBeUndefined();
  expect(await remove()).toEqual(known);
});
