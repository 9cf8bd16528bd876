import { systemClock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type DatabaseUrl, openAt } from './database-url.ts';
import { StoreError } from './errors.ts';
import { moveRows, replaceShards, SHARDS, type ShardRow } from './shards.ts';
import { storeInProcess } from './sqlite/store-in-process.ts';
import type { Store } from './store.ts';

/** Opens the database, changes its number of shards (see {@link changeShards}), and closes it. */
export async function changeShardsAt(url: DatabaseUrl, count: number, log: Logger): Promise<number> {
  const store = await openAt(url, log, storeInProcess(systemClock));
  try {
    return await changeShards(store, count);
  } finally {
    await store.close();
  }
}

/**
 * Changes the number of shards. Entries of the log of changes and notes of the export move to the new shards.
 * A leader that was frozen during the change can write nothing afterwards.
 *
 * @returns the former number
 * @throws StoreError `store-in-use` while a coordinator leads
 */
export function changeShards(store: Store, count: number): Promise<number> {
  return store.transaction(async (tx) => {
    const there = await tx.query<ShardRow>(SHARDS);
    const leader = there.find(({ left_ms: leftMs }) => leftMs > 0);
    if (leader !== undefined) {
      throw new StoreError(
        'store-in-use',
        `${leader.holder} leads: stop all coordinators first, or wait 4 s if it was killed`,
      );
    }
    await replaceShards(tx, count);
    await moveRows(tx, count);
    return there.length;
  });
}
