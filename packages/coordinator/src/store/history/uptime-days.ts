import { sql } from 'kysely';
import type { MonitorStatus } from '../../verdict/monitor.ts';
import { DAY_MS } from '../../verdict/summary-range.ts';
import type { StatusSince, StatusTimes } from '../../verdict/uptime.ts';
import { greatest, jsonRows, numbersAs } from '../dialect.ts';
import { historyOf } from '../states/transitions.ts';
import type { Store, Transaction } from '../store.ts';

/**
 * How long a monitor had each status on a day, including time under maintenance. `day`: the beginning of the
 * day in UTC, epoch ms.
 */
export type UptimeDay = { monitorId: number; day: number; times: StatusTimes };

/**
 * Writes the rows of the days, in place of earlier rows. A removed monitor and a day without a known status
 * get no row.
 */
export async function writeUptimes(tx: Transaction, days: readonly UptimeDay[]): Promise<void> {
  const isKnown = ({ times }: UptimeDay) => times.active + times.degraded + times.error > 0;
  const known = days.filter(isKnown);
  const unknown = days.filter((each) => !isKnown(each));
  await tx.runEach(
    'DELETE FROM uptime_days WHERE monitor_id = ? AND at = ?',
    unknown.map(({ monitorId, day }) => [monitorId, day]),
  );
  await tx.runEach(
    `INSERT INTO uptime_days (monitor_id, at, active_ms, degraded_ms, error_ms)
     SELECT id, ?::bigint, ?::bigint, ?::bigint, ?::bigint FROM monitors WHERE id = ?
     ON CONFLICT (monitor_id, at) DO UPDATE SET active_ms = excluded.active_ms,
       degraded_ms = excluded.degraded_ms, error_ms = excluded.error_ms`,
    known.map(({ monitorId, day, times: { active, degraded, error } }) => [
      day,
      Math.round(active),
      Math.round(degraded),
      Math.round(error),
      monitorId,
    ]),
  );
}

/** A monitor's stored uptimes and its status changes on the last days. */
export type RecentDays = {
  id: number;
  /**
   * Beginning of the first requested day that is not rolled up, epoch ms. If days in the future are rolled
   * up, it is the beginning of the first requested day.
   */
  since: number;
  /** The rolled-up days before `since`, in any order. `at`: the beginning of the day. */
  rolledUp: { at: number; times: StatusTimes }[];
  /** The statuses from `since` on, oldest first. */
  history: StatusSince[];
};

type Row = { id: number; since: number; days: string; before: MonitorStatus | null; changes: string };
type StoredDay = [at: number, active: number, degraded: number, error: number];

/**
 * The days of these monitors from `from` (beginning of a day) until `now`, epoch ms, in one query.
 *
 * Days that are not rolled up yet come from the history: today, and usually yesterday until some minutes past
 * midnight. If the clock was ahead and days in the future were rolled up, all days come from the history.
 */
export async function recentDays(
  { read }: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  { from, now }: { from: number; now: number },
): Promise<RecentDays[]> {
  const progressed = sql<number>`
    coalesce((SELECT day FROM rollup_progress WHERE day <= ${now}), ${from})`;
  const { rows } = await sql<Row>`
    WITH rolled_up AS (SELECT ${greatest(sql`${from}`, progressed)} AS until)
    SELECT monitor.value AS id, rolled_up.until AS since,
      (SELECT ${jsonRows(['at', 'active_ms', 'degraded_ms', 'error_ms'])} FROM uptime_days
        WHERE monitor_id = monitor.value AND at >= ${from} AND at < rolled_up.until) AS days,
      (SELECT to_status FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status AND at <= rolled_up.until
        ORDER BY at DESC, id DESC LIMIT 1) AS before,
      (SELECT ${jsonRows(['at', 'to_status'], ['at', 'id'])} FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status
          AND at > rolled_up.until AND at < ${now}) AS changes
    FROM ${numbersAs(monitorIds, 'monitor')} CROSS JOIN rolled_up`.execute(read);
  return rows.map(({ id, since, days, before, changes }) => ({
    id,
    since,
    // The query made this text from columns of these types, so it is not parsed by a schema.
    rolledUp: (JSON.parse(days) as StoredDay[]).map(([at, active, degraded, error]) => ({
      at,
      times: { active, degraded, error, unknown: DAY_MS - active - degraded - error, maintenance: 0 },
    })),
    history: historyOf(since, before, changes),
  }));
}
