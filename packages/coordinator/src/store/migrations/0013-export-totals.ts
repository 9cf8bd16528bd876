import { type Kysely, sql } from 'kysely';

/**
 * What the export over OTLP has counted (`export/`). `totals` is JSON and has the notes up to `until`. A note has
 * the results of one batch of the recorder whose monitors are exported; it goes when all totals have it. Ids of notes
 * are given by the process and only grow.
 */
const STATEMENTS = [
  `CREATE TABLE export_totals (
    monitor_id INTEGER PRIMARY KEY REFERENCES monitors ON DELETE CASCADE,
    until INTEGER NOT NULL, totals TEXT NOT NULL)`,
  'CREATE TABLE export_notes (id INTEGER PRIMARY KEY, note BLOB NOT NULL)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
