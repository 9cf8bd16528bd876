import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';
import type { Store, Transaction } from './store.ts';

/**
 * Where rows are looked up: the store (on its reading thread, committed rows only), or a transaction, which
 * sees what it wrote itself.
 */
export type RowSource = Pick<Store, 'read'> | Pick<Transaction, 'db'>;

/** For the files of this folder only. */
export function queriesOn(source: RowSource): Kysely<Database> {
  return 'db' in source ? source.db : source.read;
}
