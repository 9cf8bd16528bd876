import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Shard } from '../verdict/shard.ts';
import type { Database } from './schema.ts';
import type { Store, Transaction } from './store.ts';

/** Where a query runs: on committed data, or inside a transaction. */
export type Readable = Pick<Store, 'read'> | Pick<Transaction, 'db'>;

export function readingOf(reading: Readable): Kysely<Database> {
  return 'db' in reading ? reading.db : reading.read;
}

/** SQL condition: the monitor with the id in this column lies in the shard, by the rule of `shardOf`. */
export function inShard(column: string, { id, count }: Shard): RawBuilder<boolean> {
  return count === 1 ? sql`TRUE` : sql`${sql.ref(column)} % ${count} = ${id}`;
}

/** Maximum number of ids in one query. SQLite accepts at most 32,766 parameters. */
const IDS_PER_QUERY = 500;

/** Splits the ids into pieces that fit one query. */
export function* idChunks(ids: readonly number[]): Generator<readonly number[]> {
  for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
    yield ids.slice(start, start + IDS_PER_QUERY);
  }
}

/**
 * Yields pages of rows by ascending id. The next page is requested while the caller works on the current one,
 * so that neither thread waits for the other.
 *
 * @param pageAfter reads the next rows after an id; it returns no rows at the end
 */
export async function* readAhead<Row>(
  pageAfter: (id: number) => Promise<readonly Row[]>,
  idOf: (row: Row) => number,
): AsyncGenerator<readonly Row[]> {
  for (let next = pageAfter(0); ; ) {
    const rows = await next;
    const last = rows.at(-1);
    if (last === undefined) return;
    next = pageAfter(idOf(last));
    // An error of `next` is thrown in the next round of the loop. A caller that stops earlier does not get
    // the error.
    next.catch(() => {});
    yield rows;
  }
}

/**
 * Returns an instant without its fraction of a millisecond. Some clocks have
 * fractions, but the database stores whole milliseconds.
 */
export function wholeMs(instant: number): number {
  return Math.floor(instant);
}
