import { type Kysely, sql } from 'kysely';

const STATEMENTS = [
  // What let the subscriber see the page when it subscribed, see `credential.ts`. Null: it subscribed before that was noted.
  'ALTER TABLE page_recipients ADD COLUMN credential TEXT',
  // What the subscribers of a page were told of a maintenance window: `announced_from`: the beginning that was announced;
  // `begun_from`: that of the time whose beginning was told; `is_over`: its end was told too. Instants are epoch ms.
  `CREATE TABLE page_windows_told (
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    window_id INTEGER NOT NULL REFERENCES maintenance_windows ON DELETE CASCADE,
    announced_from INTEGER, begun_from INTEGER, is_over INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (page_id, window_id)) WITHOUT ROWID`,
  'CREATE INDEX page_windows_told_window ON page_windows_told (window_id)',
  // The icon of a page as it was last fetched. `url`: as the page had it then; the icon of another address counts for
  // nothing. `content`: null, it could not be fetched yet. `validator`: the `ETag` of its server. `problem`: why the last
  // try failed.
  `CREATE TABLE page_icons (
    page_id INTEGER PRIMARY KEY REFERENCES status_pages ON DELETE CASCADE,
    url TEXT NOT NULL, content_type TEXT, content BLOB, validator TEXT, problem TEXT,
    tried_at INTEGER NOT NULL, fetched_at INTEGER, failures INTEGER NOT NULL DEFAULT 0)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
