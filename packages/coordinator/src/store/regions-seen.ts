import type { Store } from './store.ts';

/**
 * When each region last had a live agent, epoch ms. The value may be a minute old while the region has one. A
 * region that never had an agent is missing.
 */
export async function regionsLastSeen(store: Store): Promise<ReadonlyMap<string, number>> {
  const rows = await store.read.selectFrom('region_presence').selectAll().execute();
  return new Map(rows.map((row) => [row.region, row.last_seen_at]));
}
