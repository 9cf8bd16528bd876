import { type Kysely, sql } from 'kysely';

const STATEMENTS = [
  // The log of changes of the declaration whose effects (votes that end, announcements, scheduling) are not
  // applied yet, see `changes.ts`. Ids grow in the order of the commits. `detail` is JSON: the content of the
  // rows before they were removed.
  `CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('monitor', 'linked', 'unlinked', 'channel-removed')),
    monitor_id INTEGER, notification_id INTEGER, detail TEXT)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
