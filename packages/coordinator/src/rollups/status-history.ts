import { type Kysely, sql } from 'kysely';
import type { MonitorStatus } from '../domain/monitor.ts';
import type { StatusSince } from '../domain/uptime.ts';
import type { Database } from '../store/schema.ts';

/**
 * The statuses that each of these monitors had from `from` to `until`, oldest first: the one it had at
 * `from`, if any, and each change after it. Inactive time needs nothing of its own: a monitor that is
 * deactivated becomes `unknown`, and stays so until its first verdict after the activation.
 */
export async function statusHistories(
  db: Kysely<Database>,
  monitorIds: readonly number[],
  { from, until }: { from: number; until: number },
): Promise<ReadonlyMap<number, readonly StatusSince[]>> {
  // As one text per monitor: thousands of rows would hold the main thread for longer.
  const { rows } = await sql<{ id: number; before: MonitorStatus | null; changes: string }>`
    SELECT monitor.value AS id,
      (SELECT to_status FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status AND at <= ${from}
        ORDER BY at DESC, id DESC LIMIT 1) AS before,
      (SELECT json_group_array(json_array(at, to_status) ORDER BY at, id) FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status AND at > ${from} AND at < ${until}
      ) AS changes
    FROM json_each(${JSON.stringify(monitorIds)}) AS monitor`.execute(db);
  return new Map(rows.map(({ id, before, changes }) => [id, historyOf(from, before, changes)]));
}

export function historyOf(from: number, before: MonitorStatus | null, changes: string): StatusSince[] {
  const list = (JSON.parse(changes) as [number, MonitorStatus][]).map(([at, status]) => ({ at, status }));
  return before === null ? list : [{ at: from, status: before }, ...list];
}
