/**
 * A part of the monitors, which one coordinator leads at a time. `count`:
 * number of all shards. This number changes only while no coordinator leads.
 */
export type Shard = { readonly id: number; readonly count: number };

/** The shard of an installation that has only one. */
export const ONLY_SHARD: Shard = { id: 0, count: 1 };

/** The largest number of shards of an installation. The help of `svc shards` names it too. */
export const MOST_SHARDS = 64;

/** The id of the shard in which a monitor lies. `inShard` in `store/queries.ts` is the same rule in SQL. */
export function shardOf(monitorId: number, count: number): number {
  return monitorId % count;
}
