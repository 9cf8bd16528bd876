import type { ShardState } from '../store/shards.ts';

/** A shard, the coordinator that took its lease last, and whether the lease is free. */
export type LeasedShard = Pick<ShardState, 'id' | 'coordinator' | 'isFree'>;

/** What a coordinator does next: the free shards that it takes, and the shard that it gives up. */
export type ShardStep = { readonly take: readonly number[]; readonly resign: number | null };

/**
 * Decides what a coordinator does next, so that the coordinators that live lead about as many shards each.
 *
 * It takes free shards up to its share while no other coordinator leads fewer than it does. It gives a shard up
 * while another coordinator leads at least two fewer and no shard is free. So shards that are led move one at a
 * time, and those of a dead coordinator are taken at once.
 *
 * @param living the ids of the coordinators that live; `own` need not be among them
 * @param own the id of the coordinator
 */
export function nextShardStep(
  shards: readonly LeasedShard[],
  living: readonly string[],
  own: string,
): ShardStep {
  const free = shards.flatMap(({ id, isFree }) => (isFree ? [id] : []));
  const ledBy = (coordinator: string) =>
    shards.filter((shard) => !shard.isFree && shard.coordinator === coordinator);
  const mine = ledBy(own);
  const others = living.filter((id) => id !== own);
  const fewest = Math.min(...others.map((id) => ledBy(id).length));
  if (free.length > 0) {
    const share = Math.ceil(shards.length / (others.length + 1));
    const take = mine.length <= fewest ? Math.max(0, share - mine.length) : 0;
    return { take: free.slice(0, take), resign: null };
  }
  return { take: [], resign: mine.length >= fewest + 2 ? (mine.at(-1)?.id ?? null) : null };
}
