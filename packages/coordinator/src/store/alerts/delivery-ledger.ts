import { type Selectable, sql } from 'kysely';
import { recipientOf } from '../declaration/channels.ts';
import { StoreError } from '../errors.ts';
import { wholeMs } from '../queries.ts';
import type { Database, DeliveryState } from '../schema.ts';
import type { Store, Transaction } from '../store.ts';
import { type DeliveryPair, passOnTurns, type QueuedRow } from './delivery-queue.ts';

/*
 * Records the attempts and the ends of deliveries, the states of channels,
 * and the incidents that were announced to channels.
 */

/** An attempt as the ledger stores it. */
export type AttemptEntry = {
  deliveryId: number;
  /** The first attempt of a delivery has the number 1. */
  number: number;
  /** Start, epoch ms. */
  at: number;
  durationMs: number;
  outcome: string;
  /** Why the attempt failed; null: it succeeded. */
  reason: string | null;
  statusCode: number | null;
  error: string | null;
  /** The receiver's answer, shortened and with secrets masked; null: there was no answer, or it was empty. */
  reply: string | null;
};

/** A step in the life of a delivery, with the consequences of the step for the delivery's channel. */
export type DeliveryStep = {
  deliveryId: number;
  /** Id of the youngest pending delivery of the pair when this delivery was read, before the attempt. */
  newestId: number;
  pair: DeliveryPair;
  /** Null: nothing was sent. */
  attempt: AttemptEntry | null;
  /** Why the attempt failed, or why nothing was sent; null: the attempt succeeded. */
  error: string | null;
  /** `pending`: the delivery will be attempted again. The other states end the delivery. */
  state: DeliveryState;
  /** When the next attempt is due, epoch ms on the clock of `due_at`; null: the delivery is over. */
  nextAttemptAt: number | null;
  /** The wait from the end of this attempt to the next attempt, ms; null: the delivery is over. */
  waitMs: number | null;
  /** The channel's new state; null: unchanged. */
  channel: ChannelState | null;
  /** The incident that this step announced, or may have announced, to the channel; null: none. */
  announced: AnnouncedIncident | null;
  /** The new text that the channel's code stores for the channel; null: unchanged. */
  kept: string | null;
  /**
   * Whether the delivery keeps the id of its last grouped message: it is pending, and that message may have
   * arrived.
   */
  isGroupKept: boolean;
};

/** @property thread the new text that the channel's code stores for the incident; null: unchanged */
export type AnnouncedIncident = { readonly incident: string; readonly thread: string | null };

/**
 * The new state of a channel.
 *
 * - `ok`, `failing`: the result of an attempt. Neither changes a stopped channel.
 * - `stopped`: the channel's address is dead. The state lasts until the channel's kind or settings are
 *   changed, or a test or a replayed delivery is delivered.
 * - `taken-up`: a test or a replayed delivery was delivered.
 */
export type ChannelState = { state: 'ok' | 'failing' | 'stopped' | 'taken-up'; reason: string | null };

/** A channel that has just been stopped, with the reason. */
export type StoppedChannel = { readonly notificationId: number; readonly reason: string | null };

/**
 * Writes steps of deliveries of different pairs. When a message is delivered, the deliveries of its channel
 * that wait for the end of their back-off become due at once. This happens to a delivery only once, until the
 * delivery is attempted at a regular time again. A step of a delivery that does not exist any more is left
 * out.
 *
 * @param now epoch ms; stored as the end of deliveries, and as the time of announcements and stops
 * @returns the channels that these steps stopped
 */
export async function recordSteps(
  tx: Transaction,
  steps: readonly DeliveryStep[],
  now: number,
): Promise<readonly StoppedChannel[]> {
  const older = `SELECT 1 FROM deliveries o WHERE o.state = 'pending' AND o.notification_id = deliveries.notification_id
    AND o.monitor_id = deliveries.monitor_id AND o.id < deliveries.id`;
  // Finds younger deliveries of the pair that were queued after the delivery was read.
  const younger = `SELECT 1 FROM deliveries y WHERE y.state = 'pending' AND y.notification_id = deliveries.notification_id
    AND y.monitor_id = deliveries.monitor_id AND y.id > ?`;
  const outcomes = await tx.runEach(
    `UPDATE deliveries SET state = ?, attempts = coalesce(?, attempts), tries = tries + ?, next_attempt_at = ?, last_error = ?,
       finished_at = ?, group_uid = CASE WHEN ? = 1 THEN group_uid END,
       hastened = CASE WHEN due_at = 0 THEN hastened ELSE 0 END,
       due_at = CASE WHEN EXISTS (${older}) THEN NULL WHEN ? = 1 AND EXISTS (${younger}) THEN 0 ELSE ?::bigint END
     WHERE id = ?`,
    steps.map((step) => {
      const { deliveryId, newestId, attempt, state, nextAttemptAt: dueAt, error, isGroupKept } = step;
      const next = nextOf(step);
      return [
        state,
        attempt?.number ?? null,
        attempt === null ? 0 : 1,
        next,
        error,
        state === 'pending' ? null : wholeMs(now),
        isGroupKept ? 1 : 0,
        next === null ? 0 : 1,
        newestId,
        dueAt === null ? null : wholeMs(dueAt),
        deliveryId,
      ];
    }),
  );
  const written = steps.filter((_, index) => outcomes[index]?.changes !== 0);
  await insertAttempts(
    tx,
    written.flatMap((step) =>
      step.attempt === null ? [] : [{ ...step.attempt, nextAttemptAt: nextOf(step) }],
    ),
  );
  await storeThreads(tx, written, now);
  await storeKeptTexts(tx, written);
  await passOnTurns(
    tx,
    written.flatMap(({ pair, state }) => (state === 'pending' ? [] : [pair])),
  );
  await hastenAfter(tx, written);
  return writeChannelStates(tx, written.flatMap(changedChannel), now);
}

/**
 * Returns when the next attempt is due, epoch ms: after an attempt, on the system's clock, which also dates
 * the attempt; without an attempt, on the clock of `due_at`. Null: there will be no further attempt.
 */
function nextOf({ attempt, nextAttemptAt, waitMs }: DeliveryStep): number | null {
  if (nextAttemptAt === null || waitMs === null) return null;
  return wholeMs(attempt === null ? nextAttemptAt : attempt.at + attempt.durationMs + waitMs);
}

async function hastenAfter(tx: Transaction, steps: readonly DeliveryStep[]): Promise<void> {
  const taking = new Set(
    steps.flatMap(({ pair, state }) => (state === 'delivered' ? [pair.notificationId] : [])),
  );
  if (taking.size === 0) return;
  await tx.runEach(
    'UPDATE deliveries SET due_at = 0, hastened = 1 WHERE notification_id = ? AND due_at > 0 AND hastened = 0',
    [...taking].map((notificationId) => [notificationId]),
  );
}

function changedChannel({ pair, channel }: DeliveryStep): NewState[] {
  return channel === null ? [] : [{ notificationId: pair.notificationId, ...channel }];
}

type WrittenAttempt = AttemptEntry & { readonly nextAttemptAt: number | null };

async function insertAttempts(tx: Transaction, attempts: readonly WrittenAttempt[]): Promise<void> {
  if (attempts.length === 0) return;
  await tx.runEach(
    `INSERT INTO delivery_attempts
       (delivery_id, number, at, duration, outcome, status_code, error, reason, reply, next_attempt_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    attempts.map((attempt) => [
      attempt.deliveryId,
      attempt.number,
      wholeMs(attempt.at),
      Math.round(attempt.durationMs * 10) / 10,
      attempt.outcome,
      attempt.statusCode,
      attempt.error,
      attempt.reason,
      attempt.reply,
      attempt.nextAttemptAt === null ? null : wholeMs(attempt.nextAttemptAt),
    ]),
  );
}

/**
 * Stores the incidents that were announced, or may have been announced, to channels. Each incident is stored
 * with the text that the channel's code keeps for the incident.
 */
async function storeThreads(tx: Transaction, steps: readonly DeliveryStep[], now: number): Promise<void> {
  const rows = steps.flatMap(({ pair, announced }) =>
    announced === null
      ? []
      : [[pair.notificationId, announced.incident, announced.thread, wholeMs(now)] as const],
  );
  if (rows.length === 0) return;
  await tx.runEach(
    `INSERT INTO delivery_threads (notification_id, incident, thread, at) VALUES (?, ?, ?, ?)
     ON CONFLICT (notification_id, incident)
     DO UPDATE SET thread = coalesce(excluded.thread, delivery_threads.thread), at = excluded.at`,
    rows,
  );
}

/** Stores the texts that the channels' code keeps for the channels. */
async function storeKeptTexts(tx: Transaction, steps: readonly DeliveryStep[]): Promise<void> {
  const rows = steps.flatMap(({ pair, kept }) =>
    kept === null ? [] : [[kept, pair.notificationId] as const],
  );
  if (rows.length > 0) await tx.runEach('UPDATE notifications SET kept = ? WHERE id = ?', rows);
}

type NewState = ChannelState & { readonly notificationId: number };

/**
 * Writes the states of channels and page recipients after their last attempts. A state is not declared, so
 * the row version does not change. Returns the channels that this call stopped.
 */
async function writeChannelStates(
  tx: Transaction,
  states: readonly NewState[],
  now: number,
): Promise<readonly StoppedChannel[]> {
  const stopped: NewState[] = [];
  await stopRecipients(tx, states.filter(isStop));
  for (const group of [states.filter(isStop), states.filter(isTakenUp), states.filter(isOrdinary)]) {
    const [first] = group;
    if (first === undefined) continue;
    const outcomes = await tx.runEach(
      STATE_SQL[first.state],
      group.map((each) => stateRow(each, now)),
    );
    if (first.state === 'stopped') stopped.push(...group.filter((_, at) => outcomes[at]?.changes !== 0));
  }
  return stopped;
}

/**
 * Stops the subscriptions of page recipients whose address is dead. The other states of channels do not apply
 * to recipients, and svc sends no notice about a stopped recipient.
 */
async function stopRecipients(tx: Transaction, states: readonly NewState[]): Promise<void> {
  const rows = states.flatMap(({ notificationId, reason }) => {
    const recipient = recipientOf(notificationId);
    return recipient === null ? [] : [[reason, recipient] as const];
  });
  if (rows.length === 0) return;
  await tx.runEach(
    "UPDATE page_recipients SET subscription = 'stopped', stopped_for = ? WHERE id = ? AND subscription = 'confirmed'",
    rows,
  );
}

const isStop = ({ state }: NewState) => state === 'stopped';
const isTakenUp = ({ state }: NewState) => state === 'taken-up';
const isOrdinary = ({ state }: NewState) => state === 'ok' || state === 'failing';

const ORDINARY = `UPDATE notifications SET state = ?, state_reason = ?
  WHERE id = ? AND stopped_at IS NULL AND (state <> ? OR state_reason IS DISTINCT FROM ?)`;

const STATE_SQL: Readonly<Record<ChannelState['state'], string>> = {
  ok: ORDINARY,
  failing: ORDINARY,
  stopped: `UPDATE notifications SET state = 'failing', state_reason = ?, stopped_at = ?
    WHERE id = ? AND stopped_at IS NULL`,
  'taken-up': "UPDATE notifications SET state = 'ok', state_reason = NULL, stopped_at = NULL WHERE id = ?",
};

function stateRow({ notificationId, state, reason }: NewState, now: number): (string | number | null)[] {
  switch (state) {
    case 'stopped':
      return [reason, wholeMs(now), notificationId];
    case 'taken-up':
      return [notificationId];
    case 'ok':
    case 'failing':
      return [state, reason, notificationId, state, reason];
  }
}

/** A delivery that was sent without being queued, with its result. */
export type FinishedDelivery = {
  attempt: Omit<AttemptEntry, 'deliveryId' | 'number'>;
  state: 'delivered' | 'dead';
  channel: ChannelState | null;
};

/**
 * Writes a delivery that was sent without being queued, and its only attempt.
 *
 * @param now epoch ms: the end of the delivery
 * @returns the id of the delivery, and the channel if the attempt stopped it
 * @throws StoreError `store-constraint` when the channel was removed
 */
export async function insertFinished(
  tx: Transaction,
  delivery: QueuedRow,
  { attempt, state, channel }: FinishedDelivery,
  now: number,
): Promise<{ deliveryId: number; stopped: readonly StoppedChannel[] }> {
  const { uid, notificationId, monitorId, alert, incident, status, createdAt } = delivery;
  const [row] = await tx.query<{ id: number }>(
    `INSERT INTO deliveries (uid, notification_id, monitor_id, alert, incident, status, state, attempts,
       last_error, created_at, finished_at)
     SELECT ?, id, ?::bigint, ?, ?, ?, ?, 1, ?, ?::bigint, ?::bigint FROM notifications WHERE id = ? RETURNING id`,
    [
      uid,
      monitorId,
      alert,
      incident,
      status,
      state,
      attempt.error,
      wholeMs(createdAt),
      wholeMs(now),
      notificationId,
    ],
  );
  if (row === undefined) throw new StoreError('store-constraint', `there is no channel ${notificationId}`);
  const deliveryId = row.id;
  await insertAttempts(tx, [{ ...attempt, deliveryId, number: 1, nextAttemptAt: null }]);
  const stopped = channel === null ? [] : await writeChannelStates(tx, [{ notificationId, ...channel }], now);
  return { deliveryId, stopped };
}

/** A row of the ledger of deliveries. */
export type DeliveryRow = Selectable<Database['deliveries']>;
export type AttemptRow = Omit<Selectable<Database['delivery_attempts']>, 'delivery_id'>;

export type DeliverySearch = {
  /** Selects the deliveries to this channel, or the deliveries about this monitor. */
  readonly of: { readonly notificationId: number } | { readonly monitorId: number };
  /** Null: deliveries in any state. */
  readonly state: DeliveryRow['state'] | null;
  /** Only deliveries with a smaller id; null: begin with the newest. */
  readonly beforeId: number | null;
  /** > 0 */
  readonly limit: number;
};

/** The newest deliveries of a channel or about a monitor, by descending id. */
export function newestDeliveries(store: Store, search: DeliverySearch): Promise<DeliveryRow[]> {
  const { of, state, beforeId, limit } = search;
  const all = store.read.selectFrom('deliveries').selectAll();
  let query =
    'monitorId' in of
      ? all.where('monitor_id', '=', of.monitorId)
      : all.where('notification_id', '=', of.notificationId);
  // The state is a literal, not a parameter: SQLite uses the index for one state only if the statement's text
  // has the state.
  if (state !== null) query = query.where('state', '=', sql.lit(state));
  if (beforeId !== null) query = query.where('id', '<', beforeId);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

/**
 * A delivery to a channel of the workspace; null: the workspace has no such delivery, or its channel was
 * removed. Mails of status pages belong to no workspace.
 */
export async function findDelivery(
  store: Store,
  workspaceId: number,
  id: number,
): Promise<DeliveryRow | null> {
  const row = await store.read
    .selectFrom('deliveries')
    .innerJoin('notifications', 'notifications.id', 'deliveries.notification_id')
    .selectAll('deliveries')
    .where('deliveries.id', '=', id)
    .where('notifications.workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * For each of these deliveries, its attempts in the order of their numbers. The list is empty for a delivery
 * without attempts.
 */
export async function attemptsOf(
  store: Store,
  deliveryIds: readonly number[],
): Promise<ReadonlyMap<number, AttemptRow[]>> {
  const attempts = new Map<number, AttemptRow[]>(deliveryIds.map((id) => [id, []]));
  if (attempts.size === 0) return attempts;
  const rows = await store.read
    .selectFrom('delivery_attempts')
    .selectAll()
    .where('delivery_id', 'in', deliveryIds)
    .orderBy('delivery_id')
    .orderBy('number')
    .execute();
  for (const { delivery_id, ...attempt } of rows) attempts.get(delivery_id)?.push(attempt);
  return attempts;
}
