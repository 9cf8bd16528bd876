import type { Selectable } from 'kysely';
import type { Database } from '../schema.ts';
import type { Store } from '../store.ts';

/** A row of the ledger of deliveries. */

export type DeliveryRow = Selectable<Database['deliveries']>;
export type AttemptRow = Omit<Selectable<Database['delivery_attempts']>, 'delivery_id'>;

export type DeliverySearch = {
  /** The deliveries of this channel, or those about this monitor. */
  readonly of: { readonly notificationId: number } | { readonly monitorId: number };
  /** null: all. */
  readonly state: DeliveryRow['state'] | null;
  /** Only those with a smaller id; null: from the newest on. */
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
  if (state !== null) query = query.where('state', '=', state);
  if (beforeId !== null) query = query.where('id', '<', beforeId);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

/** Answers null when there is no such delivery, or when it belongs to another workspace. */
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

/** The attempts of these deliveries in their order; a delivery without any has an empty list. */
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
