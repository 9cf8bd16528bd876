import { type Alert, alert as alertSchema } from '@svc/shared/channels/alert.ts';
import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../../test/support/configured-store.ts';
import { type Loss, lossyStore } from '../../../../test/support/coordinator/lossy-store.ts';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { TEST_IDS } from '../../../../test/support/test-ids.ts';
import { electableRegions } from '../checks/batch-evaluation.ts';
import { Secrets } from '../store/declaration/secrets.ts';
import type { Store } from '../store/store.ts';
import { ONLY_SHARD } from '../verdict/shard.ts';
import { contentOf, plainText } from './content.ts';
import { Reminders } from './reminders.ts';

/* Tests reminders with the real recorder and a real database, on a fake clock. */

const [A, B, C] = THREE as [Region, Region, Region];
const all = (outcome: Outcome) => ({ [A]: outcome, [B]: outcome, [C]: outcome });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PERIOD = 10 * MINUTE;
const MAIL = 10;
const WEBHOOK = 12;
const PAGER = 13;

let it: Recording;
let reminders: Reminders;
/** What is lost of each of the next transactions of reminders: its answer, or the whole transaction. */
let lost: Loss[];

beforeEach(async () => {
  it = await Recording.open();
  lost = [];
  transactions = 0;
  delivered = 0;
  await it.declare(liveMonitor(1, { periodMs: PERIOD, name: 'Shop' }));
  await it.channel(MAIL, 'email', [1]);
  await it.channel(WEBHOOK, 'webhook', [1]);
  await it.channel(PAGER, 'incident_a', [1]);
  await remindEvery(HOUR, MAIL, PAGER);
  it.recorder.endResumption();
  await periods(1, 'passed');
  start();
});

afterEach(async () => {
  await reminders.stop();
  await it.dispose();
});

async function remindEvery(ms: number | null, ...channels: readonly number[]): Promise<void> {
  for (const id of channels)
    await it.write('UPDATE notifications SET remind_every_ms = ? WHERE id = ?', ms, id);
}

function start(store: Store = it.store): Reminders {
  reminders = new Reminders({
    shard: ONLY_SHARD,
    store: lossyStore(store, () => {
      transactions += 1;
      return lost.shift();
    }),
    secrets: new Secrets(Buffer.alloc(32, 1)),
    ids: TEST_IDS,
    states: it.states,
    monitors: it.monitors,
    clock: it.clock,
    slotClock: it.slotClock,
    log: silentLog,
    electable: () => electableRegions(it.presence),
    isHeld: (monitorId) => it.recorder.holdsAlerts(monitorId),
    onQueued: () => {},
  });
  reminders.start();
  return reminders;
}

/** Simulates a kill: uncommitted data is lost, and new parts start from the database. */
async function kill(): Promise<void> {
  await reminders.stop();
  await it.restart();
  it.recorder.endResumption();
  await it.recorder.flushed();
  start();
}

/**
 * Lets all regions report this outcome for this number of periods.
 * Alerts are delivered within 30 s, if `areDelivered` is set.
 */
async function periods(count: number, outcome: Outcome): Promise<void> {
  for (let period = 0; period < count; period += 1) {
    await it.slot(1, all(outcome));
    for (let left = PERIOD; left > 0; left -= 30_000) {
      await it.pass(30_000);
      await reminders?.looked();
      await deliver();
    }
  }
}

const failFor = (ms: number) => periods(ms / PERIOD, 'failed');

let areDelivered = true;
/** Number of transactions of reminders. */
let transactions = 0;
/** Number of these transactions and of the queued alerts when all deliveries were delivered last. */
let delivered = 0;
async function deliver(): Promise<void> {
  const queued = transactions + it.enqueued.length;
  if (!areDelivered || queued === delivered) return;
  delivered = queued;
  await it.write(
    `INSERT INTO delivery_threads (notification_id, incident, at)
    SELECT DISTINCT notification_id, incident, CAST(? AS BIGINT) FROM deliveries WHERE state = 'pending'
    ON CONFLICT (notification_id, incident) DO UPDATE SET at = excluded.at`,
    it.clock.wall(),
  );
  await it.write("UPDATE deliveries SET state = 'delivered', due_at = NULL");
}

type Row = { uid: string; channel: number; alert: Alert; at: number };

async function deliveries(): Promise<Row[]> {
  const rows = await it.rows<{ uid: string; channel: number; alert: string; at: number }>(
    'SELECT uid, notification_id AS channel, alert, created_at AS at FROM deliveries ORDER BY id',
  );
  return rows.map((row) => ({ ...row, alert: alertSchema.parse(JSON.parse(row.alert)) }));
}

const reminded = async () => (await deliveries()).filter(({ alert }) => alert.reminder !== undefined);

/** Acknowledges the open incidents. Writes the columns that the API writes. */
const acknowledge = () =>
  it.write("UPDATE incidents SET acknowledged_at = 1, acknowledged_by = 'Ada' WHERE closed_at IS NULL");
const unacknowledge = () => it.write('UPDATE incidents SET acknowledged_at = NULL, acknowledged_by = NULL');

test('an open alert is repeated with how long it lasts, at intervals that double up to a day', async () => {
  await remindEvery(4 * HOUR, MAIL);
  await failFor(4 * HOUR);
  await failFor(4 * HOUR + PERIOD);
  const [first] = await reminded();
  expect(first?.alert).toMatchObject({ status: 'error', reminder: { number: 1 } });
  expect(plainText(contentOf(first?.alert as Alert, 'https://svc.example'))).toMatch(
    /^Still failing: Shop\nLasts: 4 h( \d+ s)?\n.*Failing since: .*\nhttps:\/\/svc\.example\/monitors\/1\/incident$/s,
  );
  await failFor(46 * HOUR);
  const [alert] = await deliveries();
  const hours = (await reminded()).map(({ at }) => Math.floor((at - (alert?.at ?? 0)) / HOUR));
  expect(hours).toEqual([4, 12, 28, 52]);
});

test('kinds that keep incidents open get none, and neither do channels without `remind_every`', async () => {
  await failFor(2 * HOUR);
  const told = (await deliveries()).map(({ channel }) => channel);
  expect(new Set(told)).toEqual(new Set([MAIL, WEBHOOK, PAGER]));
  expect((await reminded()).map(({ channel }) => channel)).toEqual([MAIL]);
});

test('an acknowledgement ends the reminders; they go on when it is taken back', async () => {
  await failFor(2 * HOUR);
  await acknowledge();
  await failFor(6 * HOUR);
  expect(await reminded()).toHaveLength(1);
  await unacknowledge();
  await failFor(PERIOD);
  expect(await reminded()).toHaveLength(2);
});

test.each([
  ['an acknowledgement', acknowledge],
  ['a recovery', () => it.slot(1, all('passed'))],
  ['another alert', () => it.slot(1, all('degraded'))],
] as const)('%s that is written while a reminder is being queued prevents the reminder', async (_, write) => {
  await failFor(HOUR - PERIOD);
  await reminders.stop();
  const { transaction } = it.store;
  let isWritten = false;
  const meanwhile: Store = Object.assign(Object.create(it.store) as Store, {
    read: it.store.read,
    work: it.store.work,
    async transaction(...work: Parameters<Store['transaction']>) {
      if (!isWritten) await write();
      isWritten = true;
      return transaction.apply(it.store, work);
    },
  });
  start(meanwhile);
  for (let looks = 0; looks < 30 && !isWritten; looks += 1) {
    await it.pass(30_000);
    await reminders.looked();
  }
  expect(isWritten).toBe(true);
  expect(await reminded()).toEqual([]);
});

test('the next incident begins from the first interval', async () => {
  await failFor(4 * HOUR);
  expect(await reminded()).toHaveLength(2);
  await periods(2, 'passed');
  await failFor(HOUR + PERIOD);
  const all = await reminded();
  expect(all).toHaveLength(3);
  expect(all[2]?.alert.reminder?.number).toBe(1);
  expect(new Set(all.map(({ uid }) => uid)).size).toBe(3);
});

test('none comes in a mute or a maintenance window, and one is due at its end', async () => {
  await failFor(PERIOD);
  await it.mute(1, it.clock.wall() + 5 * HOUR);
  await failFor(4 * HOUR);
  await it.window([1], it.clock.wall(), it.clock.wall() + 5 * HOUR);
  await failFor(4 * HOUR);
  expect(await reminded()).toEqual([]);
  await failFor(2 * HOUR);
  expect(await reminded()).toHaveLength(1);
});

test('none comes while an alert still waits, and none after a recovery', async () => {
  areDelivered = false;
  try {
    await failFor(4 * HOUR);
    expect(await reminded()).toEqual([]);
  } finally {
    areDelivered = true;
  }
  await periods(12, 'passed');
  expect(await reminded()).toEqual([]);
});

test('after an escalation, the last announced status is repeated, an hour after its alert', async () => {
  await periods(3, 'degraded');
  await failFor(HOUR - PERIOD);
  expect(await reminded()).toEqual([]);
  await failFor(2 * PERIOD);
  expect((await reminded()).map(({ alert }) => alert.status)).toEqual(['error']);
});

test('an alert that follows a reminder begins the next interval again', async () => {
  await periods(HOUR / PERIOD + 1, 'degraded');
  expect(await reminded()).toHaveLength(1);
  await periods((2 * HOUR) / PERIOD - 2, 'degraded');
  await failFor(2 * HOUR - PERIOD);
  expect(await reminded()).toHaveLength(1);
  await failFor(2 * PERIOD);
  expect((await reminded()).map(({ alert }) => alert.status)).toEqual(['degraded', 'error']);
});

test('after a kill before a reminder was sent, the next one comes an interval after it was sent', async () => {
  await failFor(PERIOD);
  areDelivered = false;
  try {
    await failFor(HOUR);
    expect(await reminded()).toHaveLength(1);
    await failFor(5 * HOUR);
  } finally {
    areDelivered = true;
  }
  await kill();
  await failFor(2 * HOUR - PERIOD);
  expect(await reminded()).toHaveLength(1);
  await failFor(2 * PERIOD);
  expect((await reminded()).map(({ alert }) => alert.reminder?.number)).toEqual([1, 2]);
});

test('none comes while the monitor has no data; one comes when it still fails after that', async () => {
  await failFor(PERIOD);
  for (let left = 4 * HOUR; left > 0; left -= 30_000) {
    await it.pass(30_000);
    await reminders.looked();
    await deliver();
  }
  expect(it.status(1)).toBe('unknown');
  expect(await reminded()).toEqual([]);
  await failFor(PERIOD);
  expect(await reminded()).toHaveLength(1);
});

test.each([
  [
    'that is unlinked and linked again',
    async () => {
      await it.unlink(1, MAIL);
      await it.link(1, MAIL, 'email');
    },
  ],
  ['of another kind', () => it.changeKind(MAIL, 'chat_a')],
] as const)('a channel %s is reminded from the first interval on', async (_, change) => {
  await failFor(90 * MINUTE);
  expect(await reminded()).toHaveLength(1);
  await change();
  await periods(1, 'degraded');
  await failFor(HOUR - PERIOD);
  expect(await reminded()).toHaveLength(1);
  await failFor(2 * PERIOD);
  const sent = await reminded();
  expect(sent.map(({ alert }) => alert.reminder?.number)).toEqual([1, 1]);
  expect(new Set(sent.map(({ uid }) => uid)).size).toBe(2);
});

test.each(['answer', 'all'] as const)(
  'a kill loses and doubles none (%s of the transaction was lost)',
  async (loss) => {
    await failFor(PERIOD);
    lost.push(loss);
    await failFor(HOUR);
    await kill();
    await failFor(PERIOD);
    const sent = await reminded();
    expect(sent.map(({ alert }) => alert.reminder?.number)).toEqual([1]);
    await kill();
    await failFor(2 * HOUR);
    expect((await reminded()).map(({ alert }) => alert.reminder?.number)).toEqual([1, 2]);
  },
);

test('two leaders that follow each other do not send the same reminder', async () => {
  await failFor(PERIOD);
  const former = reminders;
  start();
  await failFor(HOUR + PERIOD);
  await former.stop();
  expect(await reminded()).toHaveLength(1);
});
