import type { Selectable } from 'kysely';
import type { Database } from '../schema.ts';
import type { Store } from '../store.ts';

export type TransitionRow = Selectable<Database['transitions']>;

/**
 * The newest changes of a monitor's verdict, by descending id.
 *
 * @param search.beforeId only those with a smaller id; null: from the newest on
 */
export function newestTransitions(
  store: Store,
  { monitorId, beforeId, limit }: { monitorId: number; beforeId: number | null; limit: number },
): Promise<TransitionRow[]> {
  let query = store.read.selectFrom('transitions').selectAll().where('monitor_id', '=', monitorId);
  if (beforeId !== null) query = query.where('id', '<', beforeId);
  return query.orderBy('id', 'desc').limit(limit).execute();
}
