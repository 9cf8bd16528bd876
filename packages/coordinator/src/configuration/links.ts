import type { Kysely } from 'kysely';
import type { Database } from '../store/schema.ts';

/** The linked monitors of these channels, ascending; a channel without any is missing. */
export async function linkedMonitorIds(
  db: Kysely<Database>,
  notificationIds: readonly number[],
): Promise<Map<number, number[]>> {
  const linked = new Map<number, number[]>();
  if (notificationIds.length === 0) return linked;
  const rows = await db
    .selectFrom('links')
    .select(['notification_id', 'monitor_id'])
    .where('notification_id', 'in', notificationIds)
    .orderBy('notification_id')
    .orderBy('monitor_id')
    .execute();
  for (const { notification_id, monitor_id } of rows) {
    const ids = linked.get(notification_id);
    if (ids === undefined) linked.set(notification_id, [monitor_id]);
    else ids.push(monitor_id);
  }
  return linked;
}
