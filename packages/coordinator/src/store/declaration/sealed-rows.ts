import { overwriteFreed } from '../dialect.ts';
import { readFact, writeFact } from '../facts.ts';
import type { SqlValue, Store } from '../store.ts';
import type { ResourceTable, Row } from './resources.ts';
import type { SealPurpose, Secrets } from './secrets.ts';

/*
 * Reads and writes sealed values in pages, so that they can be sealed with a new key. Row versions do not
 * change, because users see no difference.
 */

const PAGE_ROWS = 200;

/** Key of the fact with the name of the key with which all values were last sealed. */
const SEALED_WITH = 'sealed_with';

/**
 * The name of the key with which all values were last sealed; null: the database is new. While values are
 * sealed again, some of them are sealed with another key already.
 */
export function sealedWith(store: Store): Promise<string | null> {
  return readFact(store.read, SEALED_WITH);
}

export async function writeSealedWith(store: Store, name: string): Promise<void> {
  await store.transaction(({ db }) => writeFact(db, SEALED_WITH, name));
}

/**
 * Runs `work` while SQLite also overwrites whole freed pages, because freed pages may contain values that the
 * former key opens.
 */
export async function overwritingFreedPages(store: Store, work: () => Promise<void>): Promise<void> {
  await store.transaction(({ db }) => overwriteFreed('pages').execute(db));
  try {
    await work();
  } finally {
    await store.transaction(({ db }) => overwriteFreed('written').execute(db));
  }
}

/** The next page of a table's rows after this id, by ascending id; empty: there are no more. */
export async function rowsAfter<T extends ResourceTable>(
  { read }: Store,
  table: T,
  id: number,
): Promise<Row<T>[]> {
  const rows = await read
    .selectFrom<ResourceTable>(table)
    .selectAll()
    .where('id', '>', id)
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
  return rows as Row<T>[];
}

/**
 * Replaces the values of these columns, in each row that nobody has changed since it was read. Returns how many rows
 * those were. Where coordinators share a database, the others serve while one seals.
 *
 * @param rows the values in the order of `columns`, and the version that was read
 */
export async function replaceColumns(
  store: Store,
  table: ResourceTable,
  columns: readonly string[],
  rows: readonly { readonly id: number; readonly rowVersion: number; readonly values: readonly SqlValue[] }[],
): Promise<number> {
  const set = columns.map((column) => `${column} = ?`).join(', ');
  const outcomes = await store.transaction((tx) =>
    tx.runEach(
      `UPDATE ${table} SET ${set} WHERE id = ? AND row_version = ?`,
      rows.map(({ id, rowVersion, values }) => [...values, id, rowVersion]),
    ),
  );
  return outcomes.filter(({ changes }) => changes > 0).length;
}

export type StoredAlertRow = { readonly id: number; readonly alert: string };

/**
 * The next page of deliveries after this id, by ascending id, whose alert may contain an address with a query
 * or user information; empty: there are no more.
 */
export function alertsAfter({ read }: Store, id: number): Promise<StoredAlertRow[]> {
  return read
    .selectFrom('deliveries')
    .select(['id', 'alert'])
    .where('id', '>', id)
    .where((row) => row.or([row('alert', 'like', '%?%'), row('alert', 'like', '%@%')]))
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
}

export async function writeAlerts(store: Store, rows: readonly StoredAlertRow[]): Promise<void> {
  const sql = 'UPDATE deliveries SET alert = ? WHERE id = ?';
  await store.commit([{ sql, rows: rows.map(({ id, alert }) => [alert, id]) }]);
}

/**
 * The purpose for which each sealed fact is sealed, by the key of the fact. The sealed values are in base64.
 */
const SEALED_FACTS: Readonly<Record<string, SealPurpose>> = {
  secret_probe: 'facts.secret_probe',
  job_key: 'facts.job_key',
};

/** @throws StoreError `store-key` when a value opens neither with the key nor with the previous key */
export async function resealFacts(store: Store, secrets: Secrets): Promise<void> {
  await store.transaction(async ({ db }) => {
    for (const [fact, purpose] of Object.entries(SEALED_FACTS)) {
      const sealed = await readFact(db, fact);
      if (sealed === null) continue;
      const text = secrets.open(purpose, Buffer.from(sealed, 'base64'));
      await writeFact(db, fact, Buffer.from(secrets.seal(purpose, text.reveal())).toString('base64'));
    }
  });
}
