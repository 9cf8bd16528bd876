import { type Kysely, sql } from 'kysely';

const COLUMNS = [
  // The id of the message for many alerts in which a delivery may have been sent; null: it was in none.
  'ALTER TABLE deliveries ADD COLUMN group_uid TEXT',
  // What the kind of a channel keeps of it: the new id of a chat, say; null: nothing.
  'ALTER TABLE notifications ADD COLUMN kept TEXT',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of COLUMNS) await sql.raw(column).execute(db);
}
