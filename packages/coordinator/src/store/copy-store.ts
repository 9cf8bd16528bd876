import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { sql } from 'kysely';
import { z } from 'zod';
import { type DatabaseUrl, fileOf, isShared, openAt, openReading } from './database-url.ts';
import { FORGET_LAST_IDS, LAST_IDS, primaryKeyOf, writeLastId } from './dialect.ts';
import { StoreError } from './errors.ts';
import { COPYING, readFact, refuseUnfinishedCopy, writeFact } from './facts.ts';
import { keepDays } from './results/insert-reports.ts';
import type { Database } from './schema.ts';
import { FencedStore, resignShard, takeShard } from './shard-lease.ts';
import { rehome, type ShardState, shardStates } from './shards.ts';
import { storeInProcess } from './sqlite/store-in-process.ts';
import type { SqlValue, Store } from './store.ts';

/*
 * Copies a database into an empty database, which may be of the other kind (SQLite or PostgreSQL): all rows,
 * except those about shards and running coordinators.
 *
 * Each page of rows is written in one transaction together with the progress of the copy (a fact), so an
 * interrupted copy can be continued. At the end, all copied rows are read again from both databases and
 * compared. From the first page until the comparison has succeeded, no coordinator starts on the target. The
 * copying process holds the leases of both databases, so that no coordinator leads on either.
 */

/** All tables whose rows are copied. Each table comes after the tables that its rows refer to. */
export const COPIED_TABLES = [
  'workspaces',
  'tokens',
  'audit',
  'sessions',
  'one_time_links',
  'idempotency_keys',
  'facts',
  'monitors',
  'removed_monitors',
  'notifications',
  'links',
  'reminders',
  'status_pages',
  'component_groups',
  'components',
  'changes',
  'own_regions',
  'slot_results',
  'agent_names',
  'off_grid_slots',
  'monitor_states',
  'monitor_votes',
  'monitor_notices',
  'transitions',
  'stream_positions',
  'region_presence',
  'region_absences',
  'rollup_hours',
  'rollup_days',
  'uptime_days',
  'rollup_progress',
  'rollup_repairs',
  'export_totals',
  'export_notes',
  'deliveries',
  'delivery_attempts',
  'delivery_threads',
  'maintenance_windows',
  'maintenance_monitors',
  'maintenance_pages',
  'maintenance_components',
  'mutes',
  'incidents',
  'incident_pages',
  'incident_updates',
  'page_recipients',
  'page_announcements',
  'page_told',
  'page_windows_told',
  'page_domains',
  'page_icons',
] as const satisfies readonly (keyof Database)[];
type CopiedTable = (typeof COPIED_TABLES)[number];

/**
 * Tables with a version number that triggers raise, each with its key. Copying rows of other tables raises
 * these numbers too.
 */
const SHOWN = { status_pages: 'id', monitor_states: 'monitor_id' } as const;

const PAGE_ROWS = 1_000;
/** Interval at which the leases are renewed, ms: less than a third of the duration of a lease. */
const RENEW_EVERY_MS = 1_000;

const progress = z.object({
  /** The id of the copied installation. */
  source: z.string(),
  table: z.enum(COPIED_TABLES),
  /** The primary key of the last copied row of the table; null: none is copied yet. */
  after: z.array(z.union([z.string(), z.number()])).nullable(),
});
type Progress = z.infer<typeof progress>;

type Row = Record<string, SqlValue>;

/** Number of rows in the finished copy, by table. */
export type Copied = Readonly<Record<string, number>>;

export type CopyParts = {
  readonly from: DatabaseUrl;
  readonly to: DatabaseUrl;
  readonly log: Logger;
  /** Called after each page of rows that was copied or compared. */
  readonly onPage?: (table: string, rows: number) => void | Promise<void>;
};

/**
 * Copies the rows of `from` to `to`, or continues an interrupted copy, and then compares all copied rows.
 *
 * @throws StoreError `store-in-use`, `store-foreign` (`from` cannot be read or is no whole installation, or
 *   `to` has other rows), `store-error` (the copy differs), or the database's error
 */
export async function copyStore({ from, to, log, onPage = () => {} }: CopyParts): Promise<Copied> {
  const installation = await installationIn(from, log);
  const opened = new AsyncDisposableStack();
  async function openHeld(url: DatabaseUrl): Promise<Store> {
    const store = opened.adopt(await openAt(url, log, storeInProcess(systemClock)), (each) => each.close());
    return hold(store, !isShared(url), opened);
  }
  try {
    const [reading, writing] = [await openHeld(from), await openHeld(to)];
    await copyRows(reading, writing, installation, onPage);
    const copied = await compareRows(reading, writing, isShared(to) ? withoutNul : (row) => row, onPage);
    // This write fails if a coordinator has led on the source meanwhile.
    await reading.commit([]);
    await rehome(writing);
    await writing.commit([{ sql: 'DELETE FROM facts WHERE key = ?', rows: [[COPYING]] }]);
    return copied;
  } finally {
    await opened.disposeAsync();
  }
}

/**
 * The id of the installation in a database. This function only reads, so it creates nothing at a mistyped
 * address.
 *
 * @throws StoreError `store-foreign`, also for each error of opening or reading the database
 */
async function installationIn(url: DatabaseUrl, log: Logger): Promise<string> {
  const name = fileOf(url) ?? 'the PostgreSQL database';
  let installation: string | null;
  try {
    const reading = await openReading(url, log);
    try {
      await refuseUnfinishedCopy(reading);
      installation = await readFact(reading.read, 'installation_id');
    } finally {
      await reading.close();
    }
  } catch (cause) {
    throw new StoreError('store-foreign', `cannot copy ${name}: ${messageOf(cause)}`, { cause });
  }
  if (installation === null)
    throw new StoreError('store-foreign', `cannot copy ${name}: no coordinator has used it yet`);
  return installation;
}

/**
 * Holds the leases of all shards of a database, so that no coordinator leads on it. The returned store writes
 * only while all of them are held.
 *
 * @param held gets the functions that give the leases up; also those of leases that were taken before an error
 * @throws StoreError `store-in-use` when another process holds a lease
 */
async function hold(store: Store, isAlone: boolean, held: AsyncDisposableStack): Promise<Store> {
  const nothing = () => {};
  const term = randomUUID();
  // Each store renews the lease of one shard and writes through the store before.
  let writing = store;
  for (const shard of await shardStates(store)) {
    const taken = { shard: shard.id, term, holder: 'svc migrate-store', coordinator: '' };
    if (!(await takeShard(store, taken, isAlone))) throw inUse(shard);
    held.defer(() => resignShard(store, taken).catch(nothing));
    const holder = { ...taken, now: () => performance.now(), onRenewed: nothing, onLost: nothing };
    writing = new FencedStore(writing, holder);
  }
  // The error of a failed renewal is ignored. The next renewal tries again, and a write fails if a lease is lost.
  held.defer(systemClock.every(RENEW_EVERY_MS, () => void writing.commit([]).catch(nothing)));
  return writing;
}

/** The error for a database while another process holds one of its shards. */
function inUse({ holder }: ShardState): StoreError {
  return new StoreError(
    'store-in-use',
    `the database is used by ${holder}: stop that first, or wait 4 s if it was killed`,
  );
}

async function copyRows(
  source: Store,
  target: Store,
  installation: string,
  onPage: CopyParts['onPage'] & {},
): Promise<void> {
  let { table, after } = await progressOf(target, installation);
  for (const name of COPIED_TABLES.slice(COPIED_TABLES.indexOf(table))) {
    table = name;
    for await (const { rows, last } of pagesOf(source, table, after)) {
      await insertRows(target, table, rows, { source: installation, table, after: last });
      await onPage(table, rows.length);
    }
    after = null;
  }
  await copyNumbers(source, target);
}

async function progressOf(target: Store, installation: string): Promise<Progress> {
  const stored = await readFact(target.read, COPYING);
  if (stored === null) {
    const { count } = await target.read
      .selectFrom('workspaces')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    if (count > 0)
      throw new StoreError(
        'store-foreign',
        'the database to copy to has rows already: name an empty one, or move its file away',
      );
    return { source: installation, table: COPIED_TABLES[0], after: null };
  }
  const found = progress.parse(JSON.parse(stored));
  if (found.source !== installation)
    throw new StoreError('store-foreign', 'the database to copy to is an unfinished copy of another one');
  return found;
}

async function insertRows(
  target: Store,
  table: CopiedTable,
  rows: readonly Row[],
  reached: Progress,
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const insert = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  await target.transaction(async (tx) => {
    if (table === 'slot_results') {
      const { sql: text, rows: days } = keepDays(rows.map(({ slot }) => ({ slot: Number(slot) })));
      await tx.runEach(text, days);
    }
    await tx.runEach(
      insert,
      rows.map((row) => columns.map((column) => row[column] ?? null)),
    );
    await writeFact(tx.db, COPYING, JSON.stringify(reached));
  });
}

/**
 * Corrects the version numbers that triggers raised during the copy, and copies the last id of each table.
 */
async function copyNumbers(source: Store, target: Store): Promise<void> {
  for (const [table, key] of Object.entries(SHOWN) as [keyof typeof SHOWN, string][]) {
    for await (const { rows } of pagesOf(source, table, null)) {
      const update = `UPDATE ${table} SET shown_version = ? WHERE ${key} = ? AND shown_version <> ?`;
      await target.transaction((tx) =>
        tx.runEach(
          update,
          rows.map((row) => [row.shown_version ?? 0, row[key] ?? 0, row.shown_version ?? 0]),
        ),
      );
    }
  }
  const { rows } = await LAST_IDS.execute(source.read);
  await target.transaction(async ({ db }) => {
    await FORGET_LAST_IDS.execute(db);
    for (const { table, id } of rows) if (id > 0) await writeLastId(table, id).execute(db);
  });
}

/**
 * @param storedAs how the target stores a row of the source
 * @throws StoreError `store-error` where a row differs
 */
async function compareRows(
  source: Store,
  target: Store,
  storedAs: (row: Row) => Row,
  onPage: CopyParts['onPage'] & {},
): Promise<Copied> {
  const copied: Record<string, number> = {};
  for (const table of COPIED_TABLES) {
    copied[table] = 0;
    const copies = pagesOf(target, table, null);
    for await (const { rows } of pagesOf(source, table, null)) {
      const { value: copy } = await copies.next();
      if (!isDeepStrictEqual(copy?.rows, rows.map(storedAs))) throw differs(table);
      copied[table] += rows.length;
      await onPage(table, rows.length);
    }
    if ((await copies.next()).done !== true) throw differs(table);
  }
  return copied;
}

function differs(table: string): StoreError {
  const message = `the copy of the table ${table} differs: empty the database to copy to, and copy again`;
  return new StoreError('store-error', message);
}

/** The row with each NUL in its texts replaced by U+FFFD, because texts of PostgreSQL cannot contain NUL. */
function withoutNul(row: Row): Row {
  const texts = Object.entries(row).map(([column, value]) => [
    column,
    typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value,
  ]);
  return Object.fromEntries(texts);
}

type PageOfRows = { readonly rows: readonly Row[]; readonly last: (string | number)[] };

/**
 * Yields the rows of a table in pages, in the order of their primary key. The fact with the progress of the
 * copy is left out.
 *
 * @param after only rows with a greater primary key; null: all rows
 */
async function* pagesOf(
  { read }: Store,
  table: CopiedTable,
  after: readonly (string | number)[] | null,
): AsyncGenerator<PageOfRows, undefined> {
  const key = (await primaryKeyOf(table).execute(read)).rows.map(({ name }) => name);
  const columns = sql.join(key.map((name) => sql.ref(name)));
  for (let last = after === null ? null : [...after]; ; ) {
    const rest = last === null ? sql`TRUE` : sql`(${columns}) > (${sql.join(last)})`;
    const { rows: found } = await sql<Row>`
      SELECT * FROM ${sql.table(table)} WHERE ${rest} ORDER BY ${columns} LIMIT ${PAGE_ROWS}`.execute(read);
    const end = found.at(-1);
    if (end === undefined) return undefined;
    last = key.map((name) => end[name] as string | number);
    const rows = found.filter((row) => table !== 'facts' || row.key !== COPYING).map((row) => ({ ...row }));
    yield { rows, last };
  }
}
