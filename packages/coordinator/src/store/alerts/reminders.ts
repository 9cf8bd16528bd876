import { sql } from 'kysely';
import type { Shard } from '../../verdict/shard.ts';
import type { Announced } from '../../verdict/transition.ts';
import { inShard, wholeMs } from '../queries.ts';
import type { Store, Transaction } from '../store.ts';

/** Maximum interval of reminders, ms: a day. */
const LONGEST_MS = 86_400_000;
/**
 * Number of reminders after which even the shortest interval (30 min), doubled each time, exceeds the
 * maximum.
 */
const LONGEST_AFTER = 6;

/**
 * A reminder that is due: the channel was alerted about a monitor whose open incident is not acknowledged.
 */
export type DueReminder = {
  readonly monitorId: number;
  readonly notificationId: number;
  readonly linkVersion: number;
  readonly announced: Exclude<Announced, 'active'>;
  /** Key of the incident that was announced to the channel. */
  readonly incident: string;
  /** When the open incident of the monitor began, epoch ms. */
  readonly since: number;
  /** 1 for the first reminder. */
  readonly number: number;
};

/** The place of a reminder in the order of {@link dueReminders}. */
export type ReminderPlace = Pick<DueReminder, 'monitorId' | 'notificationId'>;

/**
 * The next due reminders of a shard, by monitor and channel, at most `limit`. The first interval is
 * `remind_every`, and each further one is twice as long as the one before, at most a day. An interval begins
 * with the last alert or reminder of the incident that may have reached the channel, or with the incident if
 * none did. No reminder is due while a delivery about the monitor waits for the channel, or while the channel
 * is stopped.
 *
 * @param search.exceptKinds kinds of channel that get no reminders
 * @param search.after       only reminders after this one; null: from the first one on
 * @param search.now         epoch ms
 */
export async function dueReminders(
  { work }: Pick<Store, 'work'>,
  shard: Shard,
  search: {
    readonly exceptKinds: readonly string[];
    readonly after: ReminderPlace | null;
    readonly limit: number;
    readonly now: number;
  },
): Promise<readonly DueReminder[]> {
  const { exceptKinds, limit } = search;
  const { monitorId, notificationId } = search.after ?? { monitorId: 0, notificationId: 0 };
  const { rows } = await sql<DueReminder>`
    SELECT l.monitor_id AS "monitorId", l.notification_id AS "notificationId", l.version AS "linkVersion",
      l.announced, l.incident, i.opened_at AS since, coalesce(r.number, 0) + 1 AS number
    FROM links l
    JOIN notifications n ON n.id = l.notification_id
    JOIN incidents i ON i.monitor_id = l.monitor_id AND i.closed_at IS NULL
    LEFT JOIN reminders r ON r.monitor_id = l.monitor_id AND r.notification_id = l.notification_id
      AND r.incident = l.incident
    LEFT JOIN delivery_threads t ON t.notification_id = l.notification_id AND t.incident = l.incident
    WHERE l.announced <> 'active' AND l.incident IS NOT NULL AND ${inShard('l.monitor_id', shard)}
      AND (l.monitor_id, l.notification_id) > (${monitorId}, ${notificationId})
      AND n.remind_every_ms IS NOT NULL AND n.stopped_at IS NULL
      AND n.provider_type NOT IN (${sql.join(exceptKinds)})
      AND i.acknowledged_at IS NULL
      AND CASE
        WHEN coalesce(r.number, 0) >= ${LONGEST_AFTER} THEN ${LONGEST_MS}
        WHEN n.remind_every_ms << CAST(coalesce(r.number, 0) AS INT) > ${LONGEST_MS} THEN ${LONGEST_MS}
        ELSE n.remind_every_ms << CAST(coalesce(r.number, 0) AS INT) END
        <= ${wholeMs(search.now)} - CASE WHEN r.at > t.at THEN r.at ELSE coalesce(t.at, r.at, i.opened_at) END
      AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.state = 'pending'
        AND d.notification_id = l.notification_id AND d.monitor_id = l.monitor_id)
    ORDER BY l.monitor_id, l.notification_id LIMIT ${limit}`.execute(work);
  return rows;
}

/**
 * Stores that these reminders are sent. A reminder is stored only if its alert is still open, and the monitor
 * has an open incident that is not acknowledged.
 *
 * @param at epoch ms
 * @returns for each reminder whether it is stored
 */
export async function storeReminders(
  tx: Transaction,
  due: readonly DueReminder[],
  at: number,
): Promise<boolean[]> {
  const outcomes = await tx.runEach(
    `INSERT INTO reminders (monitor_id, notification_id, incident, number, at)
       SELECT l.monitor_id, l.notification_id, l.incident, ?::bigint, ?::bigint FROM links l
       WHERE l.monitor_id = ? AND l.notification_id = ? AND l.incident = ? AND l.announced = ?
         AND EXISTS (SELECT 1 FROM incidents i
           WHERE i.monitor_id = l.monitor_id AND i.closed_at IS NULL AND i.acknowledged_at IS NULL)
       ON CONFLICT (monitor_id, notification_id) DO UPDATE
         SET incident = excluded.incident, number = excluded.number, at = excluded.at`,
    due.map(({ monitorId, notificationId, incident, announced, number }) => [
      ...[number, wholeMs(at), monitorId, notificationId, incident, announced],
    ]),
  );
  return outcomes.map(({ changes }) => changes > 0);
}
