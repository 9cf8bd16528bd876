import { readFact, writeFact } from './facts.ts';
import type { SqlStep, Store } from './store.ts';

/** A note that a commit of the recorder leaves for the export. */
export type ExportNote = {
  /** Grows from note to note. */
  readonly id: number;
  readonly bytes: Uint8Array;
};

export type StoredExportTotals = {
  readonly monitorId: number;
  /** Notes up to this one are in it. */
  readonly until: number;
  readonly text: string;
};

/** Fact: notes up to this one are in all totals, and gone. */
const NOTES_UNTIL = 'export_notes_until';
/** Notes of one read: each is up to 50 KB. */
const NOTES_PER_READ = 50;
/** Notes of one transaction that deletes. */
const NOTES_PER_DELETE = 500;

export function insertNote({ id, bytes }: ExportNote): SqlStep {
  return { sql: 'INSERT INTO export_notes (id, note) VALUES (?, ?)', rows: [[id, bytes]] };
}

/** Id of the last note; 0: there was none yet. */
export async function lastNote({ read }: Pick<Store, 'read'>): Promise<number> {
  const until = Number((await readFact(read, NOTES_UNTIL)) ?? 0);
  const { id } = await read
    .selectFrom('export_notes')
    .select(({ fn }) => fn.max<number | null>('id').as('id'))
    .executeTakeFirstOrThrow();
  return Math.max(until, id ?? 0);
}

/** The next notes after this one, in their order. */
export async function notesAfter({ read }: Pick<Store, 'read'>, id: number): Promise<ExportNote[]> {
  const rows = await read
    .selectFrom('export_notes')
    .selectAll()
    .where('id', '>', id)
    .orderBy('id')
    .limit(NOTES_PER_READ)
    .execute();
  return rows.map((row) => ({ id: row.id, bytes: row.note }));
}

/** Of these monitors, where there are some. */
export async function totalsOf(
  { read }: Pick<Store, 'read'>,
  monitorIds: readonly number[],
): Promise<ReadonlyMap<number, StoredExportTotals>> {
  const rows = await read
    .selectFrom('export_totals')
    .selectAll()
    .where('monitor_id', 'in', monitorIds)
    .execute();
  return new Map(
    rows.map(({ monitor_id: monitorId, until, totals: text }) => [monitorId, { monitorId, until, text }]),
  );
}

/** Ids of monitors with totals, ascending: the next `limit` after this one. */
export async function monitorsWithTotals(
  { read }: Pick<Store, 'read'>,
  afterId: number,
  limit: number,
): Promise<number[]> {
  const rows = await read
    .selectFrom('export_totals')
    .select('monitor_id')
    .where('monitor_id', '>', afterId)
    .orderBy('monitor_id')
    .limit(limit)
    .execute();
  return rows.map(({ monitor_id }) => monitor_id);
}

/** Totals of a monitor that was removed meanwhile are left out. */
const WRITE_TOTALS = `INSERT INTO export_totals (monitor_id, until, totals)
  SELECT id, ?, ? FROM monitors WHERE id = ?
  ON CONFLICT (monitor_id) DO UPDATE SET until = excluded.until, totals = excluded.totals`;

export async function writeTotals(store: Store, rows: readonly StoredExportTotals[]): Promise<void> {
  await store.transaction((tx) =>
    tx.runEach(
      WRITE_TOTALS,
      rows.map(({ monitorId, until, text }) => [until, text, monitorId]),
    ),
  );
}

export async function removeTotals(store: Store, monitorIds: readonly number[]): Promise<void> {
  await store.transaction((tx) =>
    tx.runEach(
      'DELETE FROM export_totals WHERE monitor_id = ?',
      monitorIds.map((id) => [id]),
    ),
  );
}

/** All totals have the notes up to this one: they go, some at a time. */
export async function removeNotes(store: Store, until: number): Promise<void> {
  for (;;) {
    const removed = await store.transaction(async (tx) => {
      await writeFact(tx.db, NOTES_UNTIL, String(until));
      const [outcome] = await tx.runEach(
        `DELETE FROM export_notes WHERE id IN (SELECT id FROM export_notes WHERE id <= ? ORDER BY id LIMIT ${NOTES_PER_DELETE})`,
        [[until]],
      );
      return outcome?.changes ?? 0;
    });
    if (removed < NOTES_PER_DELETE) return;
  }
}
