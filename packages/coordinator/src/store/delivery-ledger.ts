import type { Alert } from '@svc/shared/channels/alert.ts';
import { sql } from 'kysely';
import { pairsAs } from './dialect.ts';
import type { Secrets } from './secrets.ts';
import type { SqlStep, Store, Transaction } from './store.ts';
import { openAlert } from './stored-alerts.ts';
import { wholeMs } from './whole-ms.ts';

const UIDS_PER_READ = 500;

/** The deliveries of one monitor to one channel: sent one after the other, in order of their ids. */
export type LaneId = { notificationId: number; monitorId: number };

/** A pending delivery with the data needed to send it. */
export type QueuedDelivery = LaneId & {
  id: number;
  /** The `webhook-id`. */
  uid: string;
  /** Null: this version cannot read the stored alert. */
  alert: Alert | null;
  /** Attempts made before, all together; the next one's number is one more. */
  attempts: number;
  /** Attempts since the delivery was queued or replayed: its place in the back-off. */
  tries: number;
  /** When it was queued or replayed, epoch ms. */
  queuedAt: number;
};

/** A delivery as it is queued. */
export type QueuedRow = LaneId & {
  uid: string;
  /** The {@link Alert} as `alertText` writes it. */
  alert: string;
  /** Epoch ms. */
  createdAt: number;
};

/** How an attempt ended, as the ledger keeps it. */
export type AttemptEntry = {
  deliveryId: number;
  /** From 1 on. */
  number: number;
  /** Start, epoch ms. */
  at: number;
  durationMs: number;
  outcome: string;
  statusCode: number | null;
  error: string | null;
};

/** An attempt, with its consequences for its delivery and its channel. */
export type AttemptRecord = {
  lane: LaneId;
  attempt: AttemptEntry;
  /** `delivered` and `dead` end the delivery. */
  state: 'pending' | 'delivered' | 'dead';
  /** Epoch ms; null when the delivery is over. */
  nextAttemptAt: number | null;
  /** The channel's new state; null: unchanged. */
  channel: ChannelState | null;
};

export type ChannelState = { state: 'ok' | 'failing'; reason: string | null };

/**
 * The position of a lane after a restart: when its oldest pending delivery was queued or replayed, the next
 * attempt of it, and the start of the last attempt.
 */
export type PendingLane = LaneId & {
  queuedAt: number;
  nextAttemptAt: number | null;
  lastAttemptAt: number | null;
};

/**
 * Queues deliveries. A delivery to a channel that was removed meanwhile is not queued: its row's `changes` is
 * 0. The other rows of the transaction are written.
 */
export function insertDeliveries(rows: readonly QueuedRow[]): SqlStep {
  return {
    sql: `INSERT INTO deliveries (uid, notification_id, monitor_id, alert, state, created_at)
      SELECT ?, id, ?, ?, 'pending', ? FROM notifications WHERE id = ?`,
    rows: rows.map((row) => [row.uid, row.monitorId, row.alert, wholeMs(row.createdAt), row.notificationId]),
  };
}

/** Ids of queued deliveries, in the order of their uids; null: the channel was gone. */
export async function deliveryIds({ read }: Store, uids: readonly string[]): Promise<(number | null)[]> {
  const ids = new Map<string, number>();
  for (let start = 0; start < uids.length; start += UIDS_PER_READ) {
    const some = uids.slice(start, start + UIDS_PER_READ);
    const rows = await read.selectFrom('deliveries').select(['id', 'uid']).where('uid', 'in', some).execute();
    for (const { id, uid } of rows) ids.set(uid, id);
  }
  return uids.map((uid) => ids.get(uid) ?? null);
}

/**
 * Writes attempts of different lanes.
 *
 * @param now epoch ms: the end of the deliveries that are over
 * @returns the lane's next delivery for each attempt whose delivery is over; null when there is none, or
 *   when the delivery is gone with its channel
 */
export async function recordAttempts(
  tx: Transaction,
  secrets: Secrets,
  records: readonly AttemptRecord[],
  now: number,
): Promise<(QueuedDelivery | null)[]> {
  const outcomes = await tx.runEach(
    `UPDATE deliveries SET state = ?, attempts = ?, next_attempt_at = ?, last_error = ?, finished_at = ?
     WHERE id = ?`,
    records.map(({ attempt, state, nextAttemptAt }) => [
      state,
      attempt.number,
      nextAttemptAt === null ? null : wholeMs(nextAttemptAt),
      attempt.error,
      state === 'pending' ? null : wholeMs(now),
      attempt.deliveryId,
    ]),
  );
  const written = records.filter((_, index) => outcomes[index]?.changes !== 0);
  await insertAttempts(
    tx,
    written.map(({ attempt }) => attempt),
  );
  await writeChannelStates(
    tx,
    written.flatMap(({ lane, channel }) =>
      channel === null ? [] : [{ notificationId: lane.notificationId, ...channel }],
    ),
  );
  const over = written.filter(({ state }) => state !== 'pending');
  const heads = await headsIn(
    tx,
    secrets,
    over.map(({ lane }) => lane),
  );
  const following = new Map(heads.map((head) => [laneKey(head), head]));
  const isOver = new Set(over);
  return records.map((record) => (isOver.has(record) ? (following.get(laneKey(record.lane)) ?? null) : null));
}

async function insertAttempts(tx: Transaction, attempts: readonly AttemptEntry[]): Promise<void> {
  if (attempts.length === 0) return;
  await tx.runEach(
    `INSERT INTO delivery_attempts (delivery_id, number, at, duration, outcome, status_code, error)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    attempts.map(({ deliveryId, number, at, durationMs, outcome, statusCode, error }) => {
      const duration = Math.round(durationMs * 10) / 10;
      return [deliveryId, number, wholeMs(at), duration, outcome, statusCode, error];
    }),
  );
}

/**
 * A channel's state follows from its last attempt. It is not part of the channel's declaration, so the row
 * version stays.
 */
async function writeChannelStates(
  tx: Transaction,
  states: readonly (ChannelState & { notificationId: number })[],
): Promise<void> {
  if (states.length === 0) return;
  await tx.runEach(
    `UPDATE notifications SET state = ?, state_reason = ?
     WHERE id = ? AND (state <> ? OR state_reason IS DISTINCT FROM ?)`,
    states.map(({ notificationId, state, reason }) => [state, reason, notificationId, state, reason]),
  );
}

/** The lane's oldest pending delivery. */
export async function headOf(store: Store, secrets: Secrets, lane: LaneId): Promise<QueuedDelivery | null> {
  const { rows } = await selectHeads([lane]).execute(store.read);
  return rows[0] === undefined ? null : queuedDelivery(secrets, rows[0]);
}

async function headsIn(
  tx: Transaction,
  secrets: Secrets,
  lanes: readonly LaneId[],
): Promise<QueuedDelivery[]> {
  if (lanes.length === 0) return [];
  const { rows } = await selectHeads(lanes).execute(tx.db);
  return rows.map((row) => queuedDelivery(secrets, row));
}

type HeadRow = {
  id: number;
  uid: string;
  notification_id: number;
  monitor_id: number;
  alert: string;
  attempts: number;
  tries: number;
  queued_at: number;
};

function selectHeads(lanes: readonly LaneId[]) {
  const pairs = lanes.map(({ notificationId, monitorId }) => [notificationId, monitorId] as const);
  return sql<HeadRow>`
    SELECT d.id, d.uid, d.notification_id, d.monitor_id, d.alert, d.attempts,
      coalesce(d.replayed_at, d.created_at) AS queued_at,
      CASE WHEN d.replayed_at IS NULL THEN d.attempts ELSE (SELECT count(*) FROM delivery_attempts a
        WHERE a.delivery_id = d.id AND a.at >= d.replayed_at) END AS tries
    FROM ${pairsAs(pairs, 'lane')} JOIN deliveries d ON d.id = (
      SELECT min(f.id) FROM deliveries f
      WHERE f.state = 'pending' AND f.notification_id = lane.first AND f.monitor_id = lane.second)`;
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
    queuedAt: row.queued_at,
  };
}

function laneKey({ notificationId, monitorId }: LaneId): string {
  return `${notificationId}:${monitorId}`;
}

/**
 * Lanes with pending deliveries, by channel and monitor, at most `limit`.
 *
 * @param after the last one that is known already; null: from the first on
 */
export async function pendingLanes(
  store: Store,
  after: LaneId | null,
  limit: number,
): Promise<PendingLane[]> {
  const { notificationId, monitorId } = after ?? { notificationId: 0, monitorId: -1 };
  const { rows } = await sql<PendingLane>`
    SELECT d.notification_id AS "notificationId", d.monitor_id AS "monitorId",
      coalesce(d.replayed_at, d.created_at) AS "queuedAt", d.next_attempt_at AS "nextAttemptAt",
      (SELECT a.at FROM delivery_attempts a WHERE a.delivery_id = d.id AND a.number = d.attempts)
        AS "lastAttemptAt"
    FROM deliveries d
    WHERE d.state = 'pending' AND (d.notification_id, d.monitor_id) > (${notificationId}, ${monitorId})
      AND d.id = (SELECT min(f.id) FROM deliveries f WHERE f.state = 'pending'
        AND f.notification_id = d.notification_id AND f.monitor_id = d.monitor_id)
    ORDER BY d.notification_id, d.monitor_id LIMIT ${limit}`.execute(store.read);
  return rows;
}

/**
 * Queues a dead delivery again, with a fresh schedule from `now` (epoch ms) on.
 *
 * @returns its lane, or why not
 */
export async function replayDelivery(
  tx: Transaction,
  deliveryId: number,
  now: number,
): Promise<LaneId | 'not-dead' | 'not-found'> {
  const delivery = await tx.db
    .selectFrom('deliveries')
    .select(['state', 'notification_id', 'monitor_id'])
    .where('id', '=', deliveryId)
    .executeTakeFirst();
  if (delivery === undefined) return 'not-found';
  if (delivery.state !== 'dead') return 'not-dead';
  await tx.db
    .updateTable('deliveries')
    .set({ state: 'pending', replayed_at: wholeMs(now), next_attempt_at: null, finished_at: null })
    .where('id', '=', deliveryId)
    .execute();
  return { notificationId: delivery.notification_id, monitorId: delivery.monitor_id };
}

/**
 * Writes a delivery that bypassed the queue, with its one attempt.
 *
 * @param now epoch ms: its end
 * @returns its id
 */
export async function insertFinished(
  tx: Transaction,
  delivery: QueuedRow,
  { attempt, state, channel }: FinishedDelivery,
  now: number,
): Promise<number> {
  const { uid, notificationId, monitorId, alert, createdAt } = delivery;
  const { insertId } = await tx.db
    .insertInto('deliveries')
    .values({
      uid,
      notification_id: notificationId,
      monitor_id: monitorId,
      alert,
      state,
      attempts: 1,
      next_attempt_at: null,
      last_error: attempt.error,
      created_at: wholeMs(createdAt),
      replayed_at: null,
      finished_at: wholeMs(now),
    })
    .executeTakeFirstOrThrow();
  const deliveryId = Number(insertId);
  await insertAttempts(tx, [{ ...attempt, deliveryId, number: 1 }]);
  if (channel !== null) await writeChannelStates(tx, [{ notificationId, ...channel }]);
  return deliveryId;
}

/** The end of a delivery that bypassed the queue. */
export type FinishedDelivery = {
  attempt: Omit<AttemptEntry, 'deliveryId' | 'number'>;
  state: 'delivered' | 'dead';
  channel: ChannelState | null;
};
