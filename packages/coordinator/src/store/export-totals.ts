import { phases } from '@svc/shared/messages/check-result.ts';
import { sql } from 'kysely';
import { z } from 'zod';
import { readFact, writeFact } from './facts.ts';
import type { SqlStep, Store } from './store.ts';

/**
 * Outcomes that the export counts. It does not count `not_run`, which says nothing about the target and may
 * be replaced later.
 */
export const COUNTED_OUTCOMES = ['passed', 'degraded', 'failed'] as const;

/** The members of a recorded result that the export counts. */
const countedResult = z.object({
  monitor: z.number(),
  region: z.string(),
  outcome: z.enum(COUNTED_OUTCOMES),
  status_code: z.number().optional(),
  error_type: z.string().optional(),
  /** Latency, ms. The phases are in ms too. */
  latency: z.number().optional(),
  /** Epoch ms. */
  certificate_expires_at: z.number().optional(),
  phases: phases.optional(),
});
export type CountedResult = z.infer<typeof countedResult>;

const countedResults = z.array(countedResult);

/** A note with the results of one commit of the recorder, for the export. Notes are stored as JSON. */
export type ExportNote = {
  /** Each note has a greater id than all earlier notes. */
  readonly id: number;
  readonly results: readonly CountedResult[];
};

export type StoredExportTotals = {
  readonly monitorId: number;
  /** The totals include the notes up to this id. */
  readonly until: number;
  readonly text: string;
};

/** Key of the fact with the id up to which notes were removed. All totals include these notes. */
const NOTES_UNTIL = 'export_notes_until';
/** Number of notes per query. A note has at most some hundred results. */
const NOTES_PER_READ = 10;
/** Maximum number of rows that one transaction of {@link removeNotes} or {@link removeCounts} deletes. */
const ROWS_PER_DELETE = 500;

export function insertNote({ id, results }: ExportNote): SqlStep {
  const note = Buffer.from(JSON.stringify(results));
  return { sql: 'INSERT INTO export_notes (id, note) VALUES (?, ?)', rows: [[id, note]] };
}

/** The id of the last note; 0: no note was ever written. */
export async function lastNote({ read }: Pick<Store, 'read'>): Promise<number> {
  const until = Number((await readFact(read, NOTES_UNTIL)) ?? 0);
  const { id } = await read
    .selectFrom('export_notes')
    .select(({ fn }) => fn.max<number | null>('id').as('id'))
    .executeTakeFirstOrThrow();
  return Math.max(until, id ?? 0);
}

/**
 * The next notes after this id, in their order. A note that this
 * version cannot read is returned without results.
 */
export async function notesAfter({ read }: Pick<Store, 'read'>, id: number): Promise<ExportNote[]> {
  const rows = await read
    .selectFrom('export_notes')
    .selectAll()
    .where('id', '>', id)
    .orderBy('id')
    .limit(NOTES_PER_READ)
    .execute();
  return rows.map(({ id: noteId, note }) => ({ id: noteId, results: resultsIn(note) }));
}

function resultsIn(note: Uint8Array): CountedResult[] {
  try {
    return countedResults.parse(JSON.parse(Buffer.from(note).toString()));
  } catch {
    return [];
  }
}

/** The stored totals of these monitors. A monitor without totals is missing. */
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

/** The ids of all monitors with totals. */
export async function monitorsWithTotals({ read }: Pick<Store, 'read'>): Promise<number[]> {
  const rows = await read.selectFrom('export_totals').select('monitor_id').execute();
  return rows.map(({ monitor_id }) => monitor_id);
}

/**
 * The statement that writes the totals of a monitor. If the monitor was
 * removed meanwhile, the statement writes nothing.
 */
const WRITE_TOTALS = `INSERT INTO export_totals (monitor_id, until, totals)
  SELECT id, ?::bigint, ? FROM monitors WHERE id = ?
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

/** Removes the notes up to this id, in chunks. Call this only when all stored totals include these notes. */
export async function removeNotes(store: Store, until: number): Promise<void> {
  for (;;) {
    const removed = await store.transaction(async (tx) => {
      await writeFact(tx.db, NOTES_UNTIL, String(until));
      const [outcome] = await tx.runEach(
        `DELETE FROM export_notes WHERE id IN (SELECT id FROM export_notes WHERE id <= ? ORDER BY id LIMIT ${ROWS_PER_DELETE})`,
        [[until]],
      );
      return outcome?.changes ?? 0;
    });
    if (removed < ROWS_PER_DELETE) return;
  }
}

/** The size of all notes, bytes. The database reads only their lengths. */
export async function bytesOfNotes({ read }: Pick<Store, 'read'>): Promise<number> {
  const { bytes } = await read
    .selectFrom('export_notes')
    .select(({ fn }) => fn.sum<number | null>(sql`octet_length(note)`).as('bytes'))
    .executeTakeFirstOrThrow();
  return Number(bytes ?? 0);
}

/**
 * Removes all totals, and then the notes up to this id. After a crash in the middle, the monitors without
 * totals count from the beginning again. No monitor continues with a lower count than before.
 */
export async function removeCounts(store: Store, until: number): Promise<void> {
  for (;;) {
    const [outcome] = await store.transaction((tx) =>
      tx.runEach(
        `DELETE FROM export_totals WHERE monitor_id IN (SELECT monitor_id FROM export_totals LIMIT ${ROWS_PER_DELETE})`,
        [[]],
      ),
    );
    if ((outcome?.changes ?? 0) < ROWS_PER_DELETE) break;
  }
  await removeNotes(store, until);
}
