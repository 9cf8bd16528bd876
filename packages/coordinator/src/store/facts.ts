import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { BelievedTime } from '../verdict/believed-time.ts';
import { StoreError } from './errors.ts';
import type { Database } from './schema.ts';
import type { Store } from './store.ts';

/**
 * Reads a fact: a single value that belongs to no other table. Null: there is no such fact. Known keys:
 * installation_id, job_key, secret_probe, declared_digest, declared_sources, believed_time, sealed_with,
 * export_notes_until (with a suffix `_<shard>` for shards other than 0), updates_told, windows_told_since,
 * copying.
 */
export async function readFact(db: Kysely<Database>, key: string): Promise<string | null> {
  const row = await db.selectFrom('facts').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value ?? null;
}

/**
 * Writes a fact.
 *
 * @param db the query builder of a transaction
 */
export async function writeFact(db: Kysely<Database>, key: string, value: string): Promise<void> {
  await db
    .insertInto('facts')
    .values({ key, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute();
}

/**
 * The stored fact. If there is no such fact, `make` makes its value, which is then stored.
 *
 * @param db the query builder of a transaction
 */
export async function factOrNew(db: Kysely<Database>, key: string, make: () => string): Promise<string> {
  const known = await readFact(db, key);
  if (known !== null) return known;
  const made = make();
  await writeFact(db, key, made);
  return made;
}

/** Key of the fact with the progress of a copy of another database into this one; see `copy-store.ts`. */
export const COPYING = 'copying';

/**
 * Refuses a database that is the target of an unfinished copy.
 *
 * @throws StoreError `store-foreign`
 */
export async function refuseUnfinishedCopy({ read }: Pick<Store, 'read'>): Promise<void> {
  if ((await readFact(read, COPYING)) === null) return;
  throw new StoreError('store-foreign', 'the database is an unfinished copy: call "svc migrate-store" again');
}

const BELIEVED_TIME = 'believed_time';

const storedTime = z.object({
  at: z.int(),
  doubt: z.object({ aheadMs: z.number(), stoodMs: z.number() }).nullable(),
});

/**
 * Returns the believed time that was stored last, see `BelievedTime`; null: none was stored.
 *
 * @throws SyntaxError, ZodError when the stored value cannot be read
 */
export async function storedBelievedTime({ read }: Store): Promise<BelievedTime | null> {
  const text = await readFact(read, BELIEVED_TIME);
  return text === null ? null : storedTime.parse(JSON.parse(text));
}

export async function writeBelievedTime(store: Store, { at, doubt }: BelievedTime): Promise<void> {
  const text = JSON.stringify({ at: Math.floor(at), doubt });
  await store.transaction(({ db }) => writeFact(db, BELIEVED_TIME, text));
}
