import { sql } from 'kysely';
import type { MonitorStatus } from '../domain/monitor.ts';
import type { StatusSince } from '../domain/uptime.ts';
import { jsonRows, numbersAs } from './dialect.ts';
import type { TimeSpan } from './result-series.ts';
import type { Store } from './store.ts';

/**
 * The statuses that each of these monitors had in the span, oldest first: the status at `from`, if any, and
 * each change after it.
 *
 * Inactive time needs no extra handling: a deactivated monitor becomes `unknown` and stays so until its first
 * verdict after the activation.
 */
export async function statusHistories(
  { read }: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  { from, until }: TimeSpan,
): Promise<ReadonlyMap<number, readonly StatusSince[]>> {
  // One text per monitor: thousands of rows would hold the main thread for longer.
  const { rows } = await sql<{ id: number; before: MonitorStatus | null; changes: string }>`
    SELECT monitor.value AS id,
      (SELECT to_status FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status AND at <= ${from}
        ORDER BY at DESC, id DESC LIMIT 1) AS before,
      (SELECT ${jsonRows(['at', 'to_status'], ['at', 'id'])} FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status AND at > ${from} AND at < ${until}
      ) AS changes
    FROM ${numbersAs(monitorIds, 'monitor')}`.execute(read);
  return new Map(rows.map(({ id, before, changes }) => [id, historyOf(from, before, changes)]));
}

/**
 * @param before  status at `from`; null: none
 * @param changes JSON of the later instants and statuses
 */
export function historyOf(from: number, before: MonitorStatus | null, changes: string): StatusSince[] {
  // Made by the query, of columns with these types.
  const list = (JSON.parse(changes) as [number, MonitorStatus][]).map(([at, status]) => ({ at, status }));
  return before === null ? list : [{ at: from, status: before }, ...list];
}
