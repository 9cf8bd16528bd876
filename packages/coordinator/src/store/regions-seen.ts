import type { Store } from './store.ts';

/** When each region last had a live agent, epoch ms; up to a minute old while it has one. Others never had. */
export async function regionsLastSeen(store: Store): Promise<ReadonlyMap<string, number>> {
  const rows = await store.read.selectFrom('region_presence').selectAll().execute();
  return new Map(rows.map((row) => [row.region, row.last_seen_at]));
}
