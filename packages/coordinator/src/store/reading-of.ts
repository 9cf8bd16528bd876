import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';
import type { Store, Transaction } from './store.ts';

/** Where a query runs: on committed data, or inside a transaction. */
export type Readable = Pick<Store, 'read'> | Pick<Transaction, 'db'>;

export function readingOf(reading: Readable): Kysely<Database> {
  return 'db' in reading ? reading.db : reading.read;
}
