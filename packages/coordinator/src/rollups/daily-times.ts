import { type Kysely, sql } from 'kysely';
import type { MonitorStatus } from '../domain/monitor.ts';
import { bucketsUntil, DAY_MS } from '../domain/summary-range.ts';
import { NO_TIMES, type StatusTimes, timesBetween } from '../domain/uptime.ts';
import type { Database } from '../store/schema.ts';
import { historyOf } from './status-history.ts';

export type DayTimes = {
  /** Beginning of the day in UTC, epoch ms. */
  readonly at: number;
  readonly times: StatusTimes;
};

type Row = { id: number; since: number; days: string; before: MonitorStatus | null; changes: string };
type StoredDay = [at: number, active: number, degraded: number, error: number];

/**
 * How long each of these monitors had each status on each of the last `count` days, today until `now`
 * included, oldest first: the bars of a status page, in one query for all of its components.
 *
 * Deleted monitors have no data. Belonging to a workspace is for the caller to know.
 *
 * @param now the slots' clock, epoch ms
 */
export async function dailyTimes(
  db: Kysely<Database>,
  monitorIds: readonly number[],
  count: number,
  now: number,
): Promise<ReadonlyMap<number, readonly DayTimes[]>> {
  const days = bucketsUntil(now, DAY_MS, count);
  const from = days[0] ?? now;
  // Days that are not rolled up yet (today, and until some minutes past midnight yesterday) come from the
  // history; all of them where the clock was ahead and days were rolled up that have not come.
  const { rows } = await sql<Row>`
    WITH rolled_up AS (
      SELECT max(${from}, coalesce((SELECT day FROM rollup_progress WHERE day <= ${now}), ${from})) AS until)
    SELECT monitor.value AS id, rolled_up.until AS since,
      (SELECT json_group_array(json_array(at, active_ms, degraded_ms, error_ms)) FROM uptime_days
        WHERE monitor_id = monitor.value AND at >= ${from} AND at < rolled_up.until) AS days,
      (SELECT to_status FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status AND at <= rolled_up.until
        ORDER BY at DESC, id DESC LIMIT 1) AS before,
      (SELECT json_group_array(json_array(at, to_status) ORDER BY at, id) FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status
          AND at > rolled_up.until AND at < ${now}) AS changes
    FROM json_each(${JSON.stringify(monitorIds)}) AS monitor CROSS JOIN rolled_up`.execute(db);
  return new Map(rows.map((row) => [row.id, timesOf(row, days, now)]));
}

function timesOf({ since, days, before, changes }: Row, starts: readonly number[], now: number): DayTimes[] {
  const stored = new Map<number, StatusTimes>();
  for (const [at, active, degraded, error] of JSON.parse(days) as StoredDay[]) {
    stored.set(at, { active, degraded, error, unknown: DAY_MS - active - degraded - error });
  }
  const open = starts.filter((at) => at >= since);
  const recent = timesBetween(historyOf(since, before, changes), [...open, now]);
  open.forEach((at, index) => {
    stored.set(at, recent[index] ?? NO_TIMES);
  });
  return starts.map((at) => ({ at, times: stored.get(at) ?? { ...NO_TIMES, unknown: DAY_MS } }));
}
