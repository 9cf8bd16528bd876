import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';
import type { Store, Transaction } from './store.ts';

/** Where a query runs: on committed data, or inside a transaction. */
export type Readable = Pick<Store, 'read'> | Pick<Transaction, 'db'>;

export function readingOf(reading: Readable): Kysely<Database> {
  return 'db' in reading ? reading.db : reading.read;
}

/** Ids in one query; SQLite takes at most 32,766 parameters. */
const IDS_PER_QUERY = 500;

/** The ids in pieces that one query takes. */
export function* idChunks(ids: readonly number[]): Generator<readonly number[]> {
  for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
    yield ids.slice(start, start + IDS_PER_QUERY);
  }
}

/**
 * Yields pages of rows by ascending id. Each page is asked for while the caller works on the page before, so
 * that neither thread waits for the other.
 *
 * @param pageAfter the next rows after this id; none: the end
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
    // A caller that stops early asks for no more pages; otherwise the next turn throws the error.
    next.catch(() => {});
    yield rows;
  }
}

/** Instants are stored as whole milliseconds; some clocks have fractions. */
export function wholeMs(instant: number): number {
  return Math.floor(instant);
}
