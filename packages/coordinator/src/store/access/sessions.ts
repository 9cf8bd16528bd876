import type { Store, Transaction } from '../store.ts';

/** A session as it is stored; see `web/sessions.ts`. The times are epoch ms. */
export type StoredSession = {
  readonly subject: string;
  readonly credential: string;
  readonly createdAt: number;
  readonly expiresAt: number;
};

/** Maximum number of expired rows that are removed when a session or a link is inserted. */
const MOST_REMOVED = 100;

/**
 * Inserts a session, and removes some expired sessions.
 *
 * @param now epoch ms, whole
 */
export async function insertSession(
  { db }: Transaction,
  hash: string,
  { subject, credential, createdAt, expiresAt }: StoredSession,
  now: number,
): Promise<void> {
  await db
    .deleteFrom('sessions')
    .where('hash', 'in', (query) =>
      query.selectFrom('sessions').select('hash').where('expires_at', '<=', now).limit(MOST_REMOVED),
    )
    .execute();
  await db
    .insertInto('sessions')
    .values({ hash, subject, credential, created_at: createdAt, expires_at: expiresAt })
    .execute();
}

/** The session with this hash, expired or not; null: there is no such session. */
export async function findSession({ read }: Store, hash: string): Promise<StoredSession | null> {
  const row = await read
    .selectFrom('sessions')
    .select(['subject', 'credential', 'created_at as createdAt', 'expires_at as expiresAt'])
    .where('hash', '=', hash)
    .executeTakeFirst();
  return row ?? null;
}

export async function removeSession({ db }: Transaction, hash: string): Promise<void> {
  await db.deleteFrom('sessions').where('hash', '=', hash).execute();
}

export async function removeSessionsOf({ db }: Transaction, subject: string): Promise<void> {
  await db.deleteFrom('sessions').where('subject', '=', subject).execute();
}

/** A link that works once, as it is stored; see `web/one-time-links.ts`. */
export type StoredLink = {
  readonly purpose: string;
  readonly detail: string;
  /** Epoch ms. */
  readonly expiresAt: number;
};

/**
 * Inserts a link, and removes some expired links.
 *
 * @param now epoch ms, whole
 */
export async function insertLink(
  { db }: Transaction,
  hash: string,
  { purpose, detail, expiresAt }: StoredLink,
  now: number,
): Promise<void> {
  await db
    .deleteFrom('one_time_links')
    .where('hash', 'in', (query) =>
      query.selectFrom('one_time_links').select('hash').where('expires_at', '<=', now).limit(MOST_REMOVED),
    )
    .execute();
  await db.insertInto('one_time_links').values({ hash, purpose, detail, expires_at: expiresAt }).execute();
}

/** Whether a link with this hash is stored, expired or not. */
export async function hasLink({ read }: Store, hash: string): Promise<boolean> {
  const row = await read
    .selectFrom('one_time_links')
    .select('hash')
    .where('hash', '=', hash)
    .executeTakeFirst();
  return row !== undefined;
}

/** Removes the link with this hash and returns it, expired or not; null: there is no such link. */
export async function takeLink({ db }: Transaction, hash: string): Promise<StoredLink | null> {
  const row = await db
    .deleteFrom('one_time_links')
    .where('hash', '=', hash)
    .returning(['purpose', 'detail', 'expires_at as expiresAt'])
    .executeTakeFirst();
  return row ?? null;
}
