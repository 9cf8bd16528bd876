import { phases } from '@svc/shared/messages/check-result.ts';
import { sql } from 'kysely';
import { z } from 'zod';
import { ONLY_SHARD, type Shard, shardOf } from '../verdict/shard.ts';
import { writeFact } from './facts.ts';
import { inShard } from './queries.ts';
import type { SqlStep, Store, Transaction } from './store.ts';

/**
 * Outcomes that the export counts. It does not count `not_run`, which says nothing about the target and may
 * be replaced later.
 */
export const COUNTED_OUTCOMES = ['passed', 'degraded', 'failed'] as const;

/** The data of a recorded result that the export uses. */
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

/**
 * The results of one commit of the recorder, as far as the export counts them. They are stored as JSON. When
 * the number of shards changes, {@link moveNotes} splits notes by the new shards, and joins notes with the
 * same id.
 */
export type ExportNote = {
  /** Greater than the ids of all earlier notes of the shard. */
  readonly id: number;
  readonly results: readonly CountedResult[];
};

export type StoredExportTotals = {
  readonly monitorId: number;
  /** Notes up to this id must not be counted any more: the totals include them, or began after them. */
  readonly until: number;
  /** The totals as JSON, see `export/totals.ts`. */
  readonly text: string;
};

/**
 * Key of the fact with the id up to which notes of shard 0 were removed, so that later notes get greater ids.
 * Other shards have keys of their own, which begin with this one.
 */
const NOTES_UNTIL = 'export_notes_until';
const notesUntil = ({ id }: Shard): string => (id === 0 ? NOTES_UNTIL : `${NOTES_UNTIL}_${id}`);
/** Maximum number of notes per query. */
const NOTES_PER_READ = 10;
/** Maximum number of rows that one transaction of {@link removeNotes} or {@link removeCounts} deletes. */
const ROWS_PER_DELETE = 500;

export function insertNote({ id, results }: ExportNote, shard: Shard = ONLY_SHARD): SqlStep {
  const note = Buffer.from(JSON.stringify(results));
  return { sql: 'INSERT INTO export_notes (shard, id, note) VALUES (?, ?, ?)', rows: [[shard.id, id, note]] };
}

/** The greatest id of all notes of all shards, removed notes included; 0: there was no note. */
export async function lastNote({ read }: Pick<Store, 'read'>): Promise<number> {
  // The notes are read first: the transaction that removes a note also writes the fact.
  const { id } = await read
    .selectFrom('export_notes')
    .select(({ fn }) => fn.max<number | null>('id').as('id'))
    .executeTakeFirstOrThrow();
  const facts = await read
    .selectFrom('facts')
    .select('value')
    .where('key', 'like', `${NOTES_UNTIL}%`)
    .execute();
  return Math.max(id ?? 0, ...facts.map(({ value }) => Number(value)));
}

/**
 * The next notes of the shard after this id, by ascending id; empty: there are no more. A note that this
 * version cannot read is returned without results.
 */
export async function notesAfter(
  { read }: Pick<Store, 'read'>,
  id: number,
  shard: Shard = ONLY_SHARD,
): Promise<ExportNote[]> {
  const rows = await read
    .selectFrom('export_notes')
    .selectAll()
    .where('shard', '=', shard.id)
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

/** The stored totals of these monitors, by monitor. A monitor without totals is missing. */
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

/** The ids of the shard's monitors that have stored totals. */
export async function monitorsWithTotals(
  { read }: Pick<Store, 'read'>,
  shard: Shard = ONLY_SHARD,
): Promise<number[]> {
  const rows = await read
    .selectFrom('export_totals')
    .select('monitor_id')
    .where(inShard('monitor_id', shard))
    .execute();
  return rows.map(({ monitor_id }) => monitor_id);
}

/**
 * The statement that writes the totals of a monitor. If the monitor was removed, the statement writes
 * nothing.
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

/**
 * Removes the notes of the shard up to this id, in chunks. Call this only when no stored totals need these
 * notes any more.
 */
export async function removeNotes(store: Store, until: number, shard: Shard = ONLY_SHARD): Promise<void> {
  for (;;) {
    const removed = await store.transaction(async (tx) => {
      await writeFact(tx.db, notesUntil(shard), String(until));
      const [outcome] = await tx.runEach(
        `DELETE FROM export_notes WHERE shard = ? AND id IN (
          SELECT id FROM export_notes WHERE shard = ? AND id <= ? ORDER BY id LIMIT ${ROWS_PER_DELETE})`,
        [[shard.id, shard.id, until]],
      );
      return outcome?.changes ?? 0;
    });
    if (removed < ROWS_PER_DELETE) return;
  }
}

/**
 * Moves the results of all notes to notes of the shards in which their monitors lie, with the same ids. The
 * results of notes that this version cannot read are lost.
 *
 * @param shards the number of shards
 */
export async function moveNotes(tx: Transaction, shards: number): Promise<void> {
  const notes = await tx.db.selectFrom('export_notes').selectAll().orderBy('id').execute();
  await tx.runEach('DELETE FROM export_notes', [[]]);
  const moved = new Map<string, { shard: number; id: number; results: CountedResult[] }>();
  for (const { id, note } of notes) {
    for (const result of resultsIn(note)) {
      const shard = shardOf(result.monitor, shards);
      const known = moved.get(`${shard} ${id}`) ?? { shard, id, results: [] };
      known.results.push(result);
      moved.set(`${shard} ${id}`, known);
    }
  }
  for (const { shard, ...note } of moved.values()) {
    const { sql: text, rows } = insertNote(note, { id: shard, count: shards });
    await tx.runEach(text, rows);
  }
}

/** The size of all notes of the shard, bytes. The database reads only their lengths. */
export async function bytesOfNotes(
  { read }: Pick<Store, 'read'>,
  shard: Shard = ONLY_SHARD,
): Promise<number> {
  const { bytes } = await read
    .selectFrom('export_notes')
    .select(({ fn }) => fn.sum<number | null>(sql`octet_length(note)`).as('bytes'))
    .where('shard', '=', shard.id)
    .executeTakeFirstOrThrow();
  return Number(bytes ?? 0);
}

/**
 * Removes all stored totals of the shard's monitors, and then its notes up to this id. The totals go first:
 * if the process crashes in between, monitors whose totals are removed begin new totals, and the totals that
 * are left find the notes that they do not include yet. So no totals continue with a lower count than before.
 */
export async function removeCounts(store: Store, until: number, shard: Shard = ONLY_SHARD): Promise<void> {
  for (;;) {
    const [outcome] = await store.transaction((tx) =>
      tx.runEach(
        `DELETE FROM export_totals WHERE monitor_id IN (
          SELECT monitor_id FROM export_totals WHERE monitor_id % ?::bigint = ?::bigint LIMIT ${ROWS_PER_DELETE})`,
        [[shard.count, shard.id]],
      ),
    );
    if ((outcome?.changes ?? 0) < ROWS_PER_DELETE) break;
  }
  await removeNotes(store, until, shard);
}
