import { type Kysely, sql } from 'kysely';

/** Each region gets its own stream of results. The former stream, of all regions, is read to its end. */
const STATEMENTS = [
  `CREATE TABLE stream_positions (
    stream TEXT PRIMARY KEY, stream_created TEXT NOT NULL, sequence INTEGER NOT NULL,
    message_id TEXT NOT NULL, message_time INTEGER NOT NULL) WITHOUT ROWID`,
  `INSERT INTO stream_positions (stream, stream_created, sequence, message_id, message_time)
    SELECT 'SVC_RESULTS', stream_created, sequence, message_id, message_time FROM stream_position`,
  'DROP TABLE stream_position',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
