import { type Kysely, sql } from 'kysely';

/** Visitors of status pages: who gets mails of a page, what subscribers were told, and where custom domains point. */
const STATEMENTS = [
  // An address that a page writes to. `subscription`: none (it asked to sign in), asked (not confirmed yet),
  // confirmed, or stopped (the address is dead, `stopped_for` says why). A delivery has the negated id as its
  // `notification_id`, so ids are not given twice.
  `CREATE TABLE page_recipients (
    id INTEGER PRIMARY KEY AUTOINCREMENT, page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    address TEXT NOT NULL, language TEXT NOT NULL, subscription TEXT NOT NULL DEFAULT 'none',
    stopped_for TEXT, created_at INTEGER NOT NULL, asked_at INTEGER NOT NULL, confirmed_at INTEGER,
    UNIQUE (page_id, address))`,
  'CREATE INDEX page_recipients_page ON page_recipients (page_id, id)',
  // For the retention.
  `CREATE INDEX page_recipients_unconfirmed ON page_recipients (asked_at)
    WHERE subscription IN ('none', 'asked')`,
  // What subscribers are told and have not all been told: `after_recipient` is the last one whose mail is queued.
  `CREATE TABLE page_announcements (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    content TEXT NOT NULL, created_at INTEGER NOT NULL, after_recipient INTEGER NOT NULL DEFAULT 0)`,
  // The status that the subscribers of a page were last told of a monitor; without a row: active.
  `CREATE TABLE page_told (
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    monitor_id INTEGER NOT NULL, status TEXT NOT NULL, PRIMARY KEY (page_id, monitor_id)) WITHOUT ROWID`,
  // Where the custom domain of a page points. `declared`: the domain as the page had it at the check; a page with
  // another one is not checked yet. `domain`: its ASCII form. `failures`: checks in a row that found it elsewhere.
  `CREATE TABLE page_domains (
    page_id INTEGER PRIMARY KEY REFERENCES status_pages ON DELETE CASCADE,
    declared TEXT NOT NULL, domain TEXT NOT NULL, state TEXT NOT NULL, problem TEXT,
    failures INTEGER NOT NULL DEFAULT 0, checked_at INTEGER NOT NULL, verified_at INTEGER)`,
  'CREATE INDEX page_domains_domain ON page_domains (domain)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
