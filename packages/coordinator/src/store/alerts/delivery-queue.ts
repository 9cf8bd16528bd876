import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import { type RawBuilder, sql } from 'kysely';
import { OWN_FAILURE_WAIT_MS } from '../../verdict/backoff.ts';
import { receiverExists } from '../declaration/channels.ts';
import type { Secrets } from '../declaration/secrets.ts';
import { wholeMs } from '../queries.ts';
import type { SqlStep, Store, Transaction } from '../store.ts';
import { alertText, openAlert } from './stored-alerts.ts';

/*
 * The outbox: the deliveries that wait to be sent. `delivery-ledger.ts` records their attempts and results.
 *
 * The deliveries about one monitor to one channel (a pair) are sent one after the other, so only the oldest
 * pending delivery of a pair has a `due_at`. Each transaction that ends, replays or queues deliveries ensures
 * that the delivery that is the oldest afterwards has one.
 */

/**
 * A monitor and a channel. The deliveries of a pair are sent one after the other. A delivery that is about no
 * monitor (a test, a message about a channel, a mail of a status page) also belongs to a pair. Its
 * `monitorId` is 0 or less. For a mail of a status page, `notificationId` stands for a page recipient (see
 * `declaration/channels.ts`).
 */
export type DeliveryPair = { notificationId: number; monitorId: number };

/** A pending delivery with the data needed to send it. */
export type QueuedDelivery = DeliveryPair & {
  id: number;
  /** Unique id of the delivery, sent as `webhook-id`. */
  uid: string;
  /** Null: this version cannot read the stored alert. */
  alert: Alert | null;
  /** Number of all attempts so far. The next attempt gets this number plus one. */
  attempts: number;
  /** Number of attempts since the delivery was queued or last replayed. It determines the next back-off. */
  tries: number;
  /** When the delivery was queued, epoch ms. */
  createdAt: number;
  /** When the delivery was last replayed, epoch ms; null: never. */
  replayedAt: number | null;
  /** Id of the youngest pending delivery of the pair; this delivery's own id if no younger delivery waits. */
  newestId: number;
  /**
   * Whether a younger delivery of the pair that is about an incident waits behind this one. Notices do not
   * count.
   */
  hasNewer: boolean;
  /** Whether a younger delivery of the pair about the same incident waits behind this one. */
  hasNewerOfIncident: boolean;
  /** Whether the channel has, or may have, received an earlier alert of the incident. */
  isAnnounced: boolean;
  /**
   * Whether this incident was the last one announced to the channel, its end is not announced yet, and the
   * monitor has an open incident that is not acknowledged.
   */
  isOpen: boolean;
  /** What the channel's code stored for the incident, such as a message's id; null: nothing. */
  thread: string | null;
  /** Id of the grouped message in which the delivery may have arrived; null: there is no such message. */
  groupUid: string | null;
  /** When the delivery may be sent, epoch ms; 0: at once. */
  dueAt: number;
};

/** The column values that a delivery is inserted with. */
export type QueuedRow = DeliveryPair & {
  uid: string;
  /** The {@link Alert} as `alertText` writes it. */
  alert: string;
  incident: string;
  status: AlertStatus;
  /** Epoch ms. */
  createdAt: number;
};

/** A delivery before it is queued. `queuedAt`: epoch ms. */
type ToQueue = DeliveryPair & { readonly uid: string; readonly alert: Alert; readonly queuedAt: number };

/** A queued delivery, once the transaction that queued it is committed. */
export type NewlyQueued = ToQueue & { readonly id: number };

/** The row of a delivery, including the columns that are derived from its alert. */
export function rowOf(secrets: Secrets, delivery: ToQueue): QueuedRow {
  const { uid, notificationId, monitorId, alert, queuedAt } = delivery;
  const { incident, status } = alert;
  const text = alertText(secrets, alert);
  return { uid, notificationId, monitorId, alert: text, incident, status, createdAt: queuedAt };
}

const INSERT_DELIVERY = insertFor('notifications', 'notifications.id');

/**
 * Queues deliveries. A delivery is left out, and `changes` of its row is 0, if its channel was removed or a
 * delivery with its uid exists. The other rows are written.
 */
export function insertDeliveries(rows: readonly QueuedRow[]): SqlStep {
  return { sql: INSERT_DELIVERY, rows: rows.map((row) => parametersOf(row, row.notificationId)) };
}

/**
 * Queues deliveries in the caller's transaction. Deliveries that the step of `insert` leaves out are not
 * queued.
 *
 * @param parts.insert makes the step that inserts the rows, such as {@link insertDeliveries}
 * @param parts.onQueued called after the commit, for each queued delivery
 */
export async function queueDeliveries<D extends ToQueue>(
  tx: Transaction,
  parts: {
    readonly secrets: Secrets;
    readonly insert: (rows: readonly QueuedRow[]) => SqlStep;
    readonly onQueued: (delivery: D & { readonly id: number }) => void;
  },
  deliveries: readonly D[],
): Promise<void> {
  const { sql, rows } = parts.insert(deliveries.map((each) => rowOf(parts.secrets, each)));
  const outcomes = await tx.runEach(sql, rows);
  deliveries.forEach((delivery, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined || outcome.changes === 0) return;
    tx.onCommit(() => parts.onQueued({ ...delivery, id: outcome.id }));
  });
}

/**
 * The statement that inserts a delivery if its receiver exists and no delivery has its uid.
 *
 * @param receivers the table of the receivers
 * @param receivedById an expression over that table: the value of `notification_id` for a receiver
 */
export function insertFor(
  receivers: 'notifications' | 'page_recipients',
  receivedById: 'notifications.id' | '-page_recipients.id',
): string {
  return `INSERT INTO deliveries
      (uid, notification_id, monitor_id, alert, incident, status, state, created_at, due_at)
    SELECT ?, ${receivedById}, ?::bigint, ?, ?, ?, 'pending', ?::bigint, CASE WHEN NOT EXISTS (SELECT 1 FROM deliveries o
      WHERE o.state = 'pending' AND o.notification_id = ${receivedById} AND o.monitor_id = ?) THEN 0 END
    FROM ${receivers} WHERE ${receivers}.id = ? ON CONFLICT (uid) DO NOTHING RETURNING id`;
}

/**
 * Parameters of the statement that {@link insertFor} returns.
 *
 * @param id the receiver's id in its table; null: there is no receiver
 */
export function parametersOf(row: QueuedRow, id: number | null) {
  const { uid, monitorId, alert, incident, status, createdAt } = row;
  return [uid, monitorId, alert, incident, status, wholeMs(createdAt), monitorId, id];
}

/**
 * Makes the oldest pending delivery of a pair due at once when a younger delivery is queued, even in the
 * middle of a long back-off. Run this step after {@link insertDeliveries} with the same rows.
 */
export function hastenOlder(rows: readonly QueuedRow[]): SqlStep {
  return {
    // The plus sign keeps SQLite from using the index of due deliveries. With that index, SQLite would read
    // all waiting deliveries of the channel.
    sql: `UPDATE deliveries SET due_at = 0
      WHERE state = 'pending' AND notification_id = ? AND monitor_id = ? AND +due_at > 0`,
    rows: rows.map(({ notificationId, monitorId }) => [notificationId, monitorId]),
  };
}

/**
 * The deliveries that a channel sends next, at most one for each monitor, by due time, at most `limit`.
 * Deliveries that are not due yet are included.
 *
 * @param exceptMonitors monitors whose deliveries are being sent
 */
export async function nextDeliveries(
  { work }: Pick<Store, 'work'>,
  secrets: Secrets,
  { notificationId, exceptMonitors, limit }: NextSearch,
): Promise<QueuedDelivery[]> {
  const { rows } = await selectHeads(
    sql`d.notification_id = ${notificationId} AND d.due_at IS NOT NULL ${without(exceptMonitors)}`,
    sql`d.due_at, d.id`,
    limit,
  ).execute(work);
  return rows.map((row) => queuedDelivery(secrets, row));
}

export type NextSearch = {
  readonly notificationId: number;
  readonly exceptMonitors: Iterable<number>;
  readonly limit: number;
};

/**
 * The deliveries of a channel that may be sent in one message, at most one for each monitor, by id, at most
 * `limit`. Deliveries whose back-off has not ended are included. Replayed deliveries are left out.
 *
 * @param search.queued only deliveries that were queued between these two instants (both exclusive, epoch ms)
 * @param search.groupUid only deliveries with this `groupUid`; null: only deliveries without one
 */
export async function groupableDeliveries(
  { work }: Pick<Store, 'work'>,
  secrets: Secrets,
  search: NextSearch & {
    readonly queued: { readonly after: number; readonly before: number };
    readonly groupUid: string | null;
  },
): Promise<QueuedDelivery[]> {
  const { notificationId, exceptMonitors, limit, queued, groupUid } = search;
  const { rows } = await selectHeads(
    sql`d.notification_id = ${notificationId} AND d.due_at IS NOT NULL ${without(exceptMonitors)}
      AND d.replayed_at IS NULL AND d.created_at > ${queued.after} AND d.created_at < ${queued.before}
      AND ${groupUid === null ? sql`d.group_uid IS NULL` : sql`d.group_uid = ${groupUid}`}`,
    // The sum keeps SQLite from using the index of all the channel's deliveries, finished ones included.
    sql`d.id + 0`,
    limit,
  ).execute(work);
  return rows.map((row) => queuedDelivery(secrets, row));
}

function without(monitors: Iterable<number>): RawBuilder<unknown> {
  const ids = [...monitors];
  return ids.length === 0 ? sql`` : sql`AND d.monitor_id NOT IN (${sql.join(ids)})`;
}

/** A truth value in a row. The connections to both databases answer 0 or 1. */
type Flag = number | boolean;

type HeadRow = {
  id: number;
  uid: string;
  notification_id: number;
  monitor_id: number;
  alert: string;
  attempts: number;
  tries: number;
  created_at: number;
  replayed_at: number | null;
  newest_id: number;
  has_newer: Flag;
  has_newer_of_incident: Flag;
  is_announced: Flag;
  is_open: Flag;
  thread: string | null;
  group_uid: string | null;
  due_at: number;
};

function selectHeads(where: RawBuilder<unknown>, order: RawBuilder<unknown>, limit: number) {
  return sql<HeadRow>`
    SELECT d.id, d.uid, d.notification_id, d.monitor_id, d.alert, d.attempts, d.tries, d.created_at, d.replayed_at, d.group_uid,
      d.due_at,
      (SELECT max(n.id) FROM deliveries n WHERE n.state = 'pending'
        AND n.notification_id = d.notification_id AND n.monitor_id = d.monitor_id) AS newest_id,
      EXISTS (SELECT 1 FROM deliveries n JOIN incidents i ON i.key = n.incident WHERE n.state = 'pending' AND n.id > d.id
        AND n.notification_id = d.notification_id AND n.monitor_id = d.monitor_id) AS has_newer,
      EXISTS (SELECT 1 FROM deliveries n WHERE n.state = 'pending' AND n.id > d.id
        AND n.notification_id = d.notification_id AND n.monitor_id = d.monitor_id
        AND n.incident = d.incident) AS has_newer_of_incident,
      EXISTS (SELECT 1 FROM links l JOIN incidents i ON i.monitor_id = l.monitor_id
        WHERE l.monitor_id = d.monitor_id AND l.notification_id = d.notification_id AND l.incident = d.incident
          AND l.announced <> 'active' AND i.closed_at IS NULL AND i.acknowledged_at IS NULL) AS is_open,
      t.incident IS NOT NULL AS is_announced, t.thread
    FROM deliveries d
    LEFT JOIN delivery_threads t ON t.notification_id = d.notification_id AND t.incident = d.incident
    WHERE ${where} ORDER BY ${order} LIMIT ${limit}`;
}

function queuedDelivery(secrets: Secrets, row: HeadRow): QueuedDelivery {
  return {
    id: row.id,
    uid: row.uid,
    notificationId: row.notification_id,
    monitorId: row.monitor_id,
    alert: openAlert(secrets, row.alert),
    attempts: row.attempts,
    tries: row.tries,
    createdAt: row.created_at,
    replayedAt: row.replayed_at,
    newestId: row.newest_id,
    hasNewer: Boolean(row.has_newer),
    hasNewerOfIncident: Boolean(row.has_newer_of_incident),
    isAnnounced: Boolean(row.is_announced),
    isOpen: Boolean(row.is_open),
    thread: row.thread,
    groupUid: row.group_uid,
    dueAt: row.due_at,
  };
}

/**
 * Stores that these deliveries are sent in one message. Commit the transaction before the message is sent.
 */
export async function joinGroup(tx: Transaction, ids: readonly number[], groupUid: string): Promise<void> {
  await tx.runEach(
    'UPDATE deliveries SET group_uid = ? WHERE id = ?',
    ids.map((id) => [groupUid, id]),
  );
}

/**
 * A channel or page recipient with pending deliveries. `dueAt`: when the first of these deliveries may be
 * sent, epoch ms; 0: at once.
 */
export type DueChannel = { readonly notificationId: number; readonly dueAt: number };

/** The channels and page recipients with pending deliveries. */
export async function dueChannels({ work }: Pick<Store, 'work'>): Promise<readonly DueChannel[]> {
  const { rows } = await sql<DueChannel>`
    SELECT notification_id AS "notificationId", min(due_at) AS "dueAt"
    FROM deliveries WHERE due_at IS NOT NULL GROUP BY notification_id`.execute(work);
  return rows;
}

/**
 * SQL expression: the whole length of a delivery's present wait, ms. It is the wait after the last recorded
 * attempt if the delivery has the `next_attempt_at` of this attempt. Otherwise it is the wait after a failure
 * of svc itself, which is not recorded as an attempt.
 */
const WAIT_MS = `coalesce((SELECT a.next_attempt_at - a.at - CAST(a.duration AS INTEGER) FROM delivery_attempts a
  WHERE a.delivery_id = deliveries.id AND a.number = deliveries.attempts
    AND a.next_attempt_at = deliveries.next_attempt_at), ${OWN_FAILURE_WAIT_MS})`;

/**
 * Shortens waits at the start of a leader. If a delivery's remaining wait is longer than the whole wait, the
 * wait begins again at `now` (epoch ms). The usual cause is that the clock was set back.
 */
export async function shortenWaits(store: Store, now: number): Promise<void> {
  const [at, wait] = [wholeMs(now), sql.raw(WAIT_MS)];
  const isTooLong = sql<boolean>`due_at > ${at} AND due_at > ${at} + ${wait}`;
  const found = await store.work.selectFrom('deliveries').select('id').where(isTooLong).limit(1).execute();
  if (found.length === 0) return;
  await store.transaction(({ db }) =>
    sql`UPDATE deliveries SET due_at = ${at} + ${wait} WHERE ${isTooLong}`.execute(db),
  );
}

/** Makes a channel's deliveries due at once if they wait for the end of their back-off. */
export async function hastenChannel({ db }: Transaction, notificationId: number): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ due_at: 0, hastened: 1 })
    .where('notification_id', '=', notificationId)
    .where('due_at', '>', 0)
    .execute();
}

/** A channel or page recipient with pending deliveries. */
export type WaitingChannel = {
  readonly notificationId: number;
  /** Null: the receiver is a page recipient. */
  readonly workspaceId: number | null;
  /** Number of monitors about which the receiver has pending deliveries. */
  readonly pairs: number;
  /**
   * When the delivery that waits longest among the next ones of these monitors was queued or last replayed,
   * epoch ms.
   */
  readonly oldestQueuedAt: number;
};

/** The channels and page recipients with pending deliveries. Removed receivers are left out. */
export async function waitingChannels({ work }: Pick<Store, 'work'>): Promise<readonly WaitingChannel[]> {
  const { rows } = await sql<WaitingChannel>`
    SELECT d.notification_id AS "notificationId", n.workspace_id AS "workspaceId", count(*) AS pairs,
      min(coalesce(d.replayed_at, d.created_at)) AS "oldestQueuedAt"
    FROM deliveries d LEFT JOIN notifications n ON n.id = d.notification_id
    WHERE d.due_at IS NOT NULL AND ${receiverExists('d.notification_id')}
    GROUP BY d.notification_id, n.workspace_id`.execute(work);
  return rows;
}

/** The highest id of a delivery; 0: there are no deliveries. */
export async function lastDeliveryId({ work }: Pick<Store, 'work'>): Promise<number> {
  const row = await work
    .selectFrom('deliveries')
    .select(({ fn }) => fn.max('id').as('id'))
    .executeTakeFirst();
  return row?.id ?? 0;
}

/** At most 1,000 deliveries after an id, by ascending id. */
export async function deliveriesAfter(
  { work }: Pick<Store, 'work'>,
  deliveryId: number,
): Promise<readonly { readonly id: number; readonly notificationId: number }[]> {
  return work
    .selectFrom('deliveries')
    .select(['id', 'notification_id as notificationId'])
    .where('id', '>', deliveryId)
    .orderBy('id')
    .limit(1_000)
    .execute();
}

/**
 * Queues a dead delivery again. Its back-off starts again at `now`, epoch ms.
 *
 * @returns the pair of the delivery, or the reason why the delivery was not queued
 */
export async function replayDelivery(
  tx: Transaction,
  deliveryId: number,
  now: number,
): Promise<DeliveryPair | 'not-dead' | 'not-found'> {
  const delivery = await tx.db
    .selectFrom('deliveries')
    .select(['state', 'notification_id', 'monitor_id'])
    .where('id', '=', deliveryId)
    .executeTakeFirst();
  if (delivery === undefined) return 'not-found';
  if (delivery.state !== 'dead') return 'not-dead';
  await replayDeliveries(tx, [deliveryId], now);
  return { notificationId: delivery.notification_id, monitorId: delivery.monitor_id };
}

/**
 * The next dead deliveries of a channel, by ascending id, at most `limit`. Test alerts and messages about
 * other channels, which are about no monitor, are left out.
 *
 * @param after only deliveries with a higher id
 */
export async function deadDeliveries(
  { work }: Pick<Store, 'work'>,
  notificationId: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await work
    .selectFrom('deliveries')
    .select('id')
    .where('notification_id', '=', notificationId)
    .where('id', '>', after)
    // The state is a literal, not a parameter: SQLite uses the index of dead deliveries only if the
    // statement's text has the state.
    .where('state', '=', sql.lit('dead'))
    .where('monitor_id', '<>', 0)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Queues these deliveries again as {@link replayDelivery} does. Deliveries that are not dead are left out.
 * Returns the pairs of the queued deliveries.
 */
export async function replayDeliveries(
  tx: Transaction,
  ids: readonly number[],
  now: number,
): Promise<DeliveryPair[]> {
  const rows = await tx.db
    .updateTable('deliveries')
    .set({ state: 'pending', replayed_at: wholeMs(now), tries: 0, next_attempt_at: null, finished_at: null })
    .where('id', 'in', ids)
    .where('state', '=', 'dead')
    .returning(['notification_id', 'monitor_id'])
    .execute();
  const pairs = rows.map((row) => ({ notificationId: row.notification_id, monitorId: row.monitor_id }));
  if (pairs.length === 0) return [];
  await tx.runEach(
    "UPDATE deliveries SET due_at = NULL WHERE state = 'pending' AND notification_id = ? AND monitor_id = ?",
    pairs.map(({ notificationId, monitorId }) => [notificationId, monitorId]),
  );
  await passOnTurns(tx, pairs);
  return pairs;
}

/**
 * Makes the oldest pending delivery of each pair due at once, unless it has a due time already. Call this
 * when the pair's previous delivery has ended.
 */
export async function passOnTurns(tx: Transaction, pairs: readonly DeliveryPair[]): Promise<void> {
  if (pairs.length === 0) return;
  await tx.runEach(
    `UPDATE deliveries SET due_at = 0 WHERE due_at IS NULL
       AND id = (SELECT min(id) FROM deliveries WHERE state = 'pending' AND notification_id = ? AND monitor_id = ?)`,
    pairs.map(({ notificationId, monitorId }) => [notificationId, monitorId]),
  );
}
