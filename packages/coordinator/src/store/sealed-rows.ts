import { readFact, writeFact } from './facts.ts';
import type { Row } from './resources.ts';
import type { SealPurpose, Secrets } from './secrets.ts';
import type { Store } from './store.ts';

/*
 * Pages of sealed values, so that they can be sealed anew. The versions of the rows stay: users see no
 * change.
 */

const PAGE_ROWS = 200;

/** Fact that names the key and the layout of all seals. */
const SEALED_WITH = 'sealed_with';

/** Answers null when a version of svc wrote the database that did not store this. */
export function sealedWith(store: Store): Promise<string | null> {
  return readFact(store.read, SEALED_WITH);
}

export async function writeSealedWith(store: Store, name: string): Promise<void> {
  await store.transaction(({ db }) => writeFact(db, SEALED_WITH, name));
}

/** Runs `work` while SQLite also overwrites whole freed pages: they held secrets in clear. */
export async function overwritingFreedPages(store: Store, work: () => Promise<void>): Promise<void> {
  await store.transaction((tx) => tx.query('PRAGMA secure_delete = ON'));
  try {
    await work();
  } finally {
    await store.transaction((tx) => tx.query('PRAGMA secure_delete = FAST'));
  }
}

export type SealedMonitor = Pick<
  Row<'monitors'>,
  'id' | 'type' | 'name' | 'active' | 'attributes' | 'secrets_sealed'
>;

/** By ascending id, after this one. */
export function monitorsAfter({ read }: Store, id: number): Promise<SealedMonitor[]> {
  return read
    .selectFrom('monitors')
    .select(['id', 'type', 'name', 'active', 'attributes', 'secrets_sealed'])
    .where('id', '>', id)
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
}

export async function resealMonitors(
  store: Store,
  rows: readonly Pick<SealedMonitor, 'id' | 'attributes' | 'secrets_sealed'>[],
): Promise<void> {
  await store.commit([
    {
      sql: 'UPDATE monitors SET attributes = ?, secrets_sealed = ? WHERE id = ?',
      rows: rows.map(({ id, attributes, secrets_sealed }) => [attributes, secrets_sealed, id]),
    },
  ]);
}

const SEALED_COLUMNS = { notifications: 'settings_sealed', status_pages: 'secrets_sealed' } as const;
export type SealedTable = keyof typeof SEALED_COLUMNS;

/**
 * Seals a page of a table's rows anew, after the id `afterId`. Answers the last id of the page; null: there
 * are no more.
 */
export async function resealPage(
  store: Store,
  { table, afterId }: { table: SealedTable; afterId: number },
  reseal: (sealed: Uint8Array) => Uint8Array,
): Promise<number | null> {
  const column = SEALED_COLUMNS[table];
  const rows = await store.read
    .selectFrom(table)
    .select((select) => ['id', select.ref(column as never).as('sealed')])
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
  const sealed = rows as unknown as readonly { id: number; sealed: Uint8Array | null }[];
  await store.commit([
    {
      sql: `UPDATE ${table} SET ${column} = ? WHERE id = ?`,
      rows: sealed.flatMap((row) => (row.sealed === null ? [] : [[reseal(row.sealed), row.id]])),
    },
  ]);
  return sealed.at(-1)?.id ?? null;
}

export type StoredAlertRow = { readonly id: number; readonly alert: string };

/** Deliveries after this id, ascending, whose alert may name an address with a query or user information. */
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

/** Facts that are sealed, in base64, by their purpose. */
const SEALED_FACTS: Readonly<Record<string, SealPurpose>> = {
  secret_probe: 'facts.secret_probe',
  job_key: 'facts.job_key',
};

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
