import { sql } from 'kysely';
import { jsonFlag, jsonMember } from '../dialect.ts';
import { type Readable, readingOf } from '../reading-of.ts';
import type { Transaction } from '../store.ts';
import { wholeMs } from '../whole-ms.ts';

/*
 * What the subscribers of status pages are told: the statuses that they were told last, and the announcements whose
 * mails are being queued.
 */

/** Rows that are read at once. A look that has found as many changes leaves the others to the next. */
const ROWS_PER_READ = 500;

/** A shown monitor whose status is another one than the page's subscribers were told. */
export type UntoldChange = {
  readonly pageId: number;
  readonly monitorId: number;
  /** What the page calls it. */
  readonly name: string;
  readonly status: 'active' | 'degraded' | 'error';
};

type ChangeRow = {
  id: number;
  page_id: number;
  monitor_id: number;
  component_name: string | null;
  monitor_name: string;
  status: UntoldChange['status'];
};

/**
 * The changes that subscribers were not told, by page and component. A page counts while it has subscribers, or while
 * its subscribers were told of a problem. It tells nothing that it does not show: not while it is unpublished, and no
 * monitor that is not public where everybody may see the page.
 *
 * @param isHeld whether nobody is told of the monitor now
 */
export async function untoldChanges(
  source: Readable,
  isHeld: (monitorId: number) => boolean,
): Promise<UntoldChange[]> {
  // A page may show a monitor twice: its first component names it.
  const found = new Map<string, UntoldChange>();
  let rows = await changesAfter(source, { page_id: 0, id: 0 });
  // Held ones stay untold for hours: those behind them must not wait for their end.
  for (;;) {
    for (const row of rows) {
      const key = `${row.page_id} ${row.monitor_id}`;
      if (found.has(key) || isHeld(row.monitor_id)) continue;
      const name = row.component_name ?? row.monitor_name;
      found.set(key, { pageId: row.page_id, monitorId: row.monitor_id, name, status: row.status });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_READ || found.size >= ROWS_PER_READ) break;
    rows = await changesAfter(source, last);
  }
  return [...found.values()];
}

/** The next components after this one, by page and id, whose monitors have a status that was not told. */
async function changesAfter(
  source: Readable,
  { page_id: pageId, id }: Pick<ChangeRow, 'page_id' | 'id'>,
): Promise<ChangeRow[]> {
  const { rows } = await sql<ChangeRow>`
    SELECT c.id, c.page_id, c.monitor_id, ${jsonMember(sql`c.attributes`, 'name')} AS component_name,
      m.name AS monitor_name, s.status
    FROM status_pages p JOIN components c ON c.page_id = p.id
      JOIN monitors m ON m.id = c.monitor_id JOIN monitor_states s ON s.monitor_id = m.id
      LEFT JOIN page_told t ON t.page_id = p.id AND t.monitor_id = m.id
    WHERE p.published = 1 AND s.status <> 'unknown' AND s.status <> coalesce(t.status, 'active')
      AND (${jsonMember(sql`p.attributes`, 'access_type')} <> 'public'
        OR ${jsonFlag(sql`m.attributes`, 'public')} = 1)
      AND (t.status IS NOT NULL OR EXISTS (SELECT 1 FROM page_recipients r
        WHERE r.page_id = p.id AND r.subscription = 'confirmed'))
      AND (c.page_id > ${pageId} OR (c.page_id = ${pageId} AND c.id > ${id}))
    ORDER BY c.page_id, c.id LIMIT ${ROWS_PER_READ}`.execute(readingOf(source));
  return rows;
}

/** Notes what the subscribers of pages are told now. */
export async function noteTold(tx: Transaction, changes: readonly UntoldChange[]): Promise<void> {
  const over = changes.filter(({ status }) => status === 'active');
  const told = changes.filter(({ status }) => status !== 'active');
  if (over.length > 0) {
    await tx.runEach(
      'DELETE FROM page_told WHERE page_id = ? AND monitor_id = ?',
      over.map(({ pageId, monitorId }) => [pageId, monitorId]),
    );
  }
  if (told.length > 0) {
    await tx.runEach(
      `INSERT INTO page_told (page_id, monitor_id, status) VALUES (?, ?, ?)
       ON CONFLICT (page_id, monitor_id) DO UPDATE SET status = excluded.status`,
      told.map(({ pageId, monitorId, status }) => [pageId, monitorId, status]),
    );
  }
}

/** Forgets what was told of monitors that their pages do not show any more. */
export async function forgetHidden({ db }: Transaction): Promise<void> {
  await db
    .deleteFrom('page_told')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('components')
            .select('components.id')
            .whereRef('components.page_id', '=', 'page_told.page_id')
            .whereRef('components.monitor_id', '=', 'page_told.monitor_id'),
        ),
      ),
    )
    .execute();
}

/** An announcement, and how far it has come. */
export type StoredAnnouncement = {
  readonly id: number;
  readonly uid: string;
  readonly pageId: number;
  /** JSON, see `pages/subscribers/announcements.ts`. */
  readonly content: string;
  /** The last recipient whose mail is queued; 0: none. */
  readonly afterRecipient: number;
};

/** Stores an announcement; one with this uid, where there is one, stays as it is. @param at epoch ms */
export async function insertAnnouncement(
  { db }: Transaction,
  { uid, pageId, content }: Pick<StoredAnnouncement, 'uid' | 'pageId' | 'content'>,
  at: number,
): Promise<void> {
  await db
    .insertInto('page_announcements')
    .values({ uid, page_id: pageId, content, created_at: wholeMs(at) })
    .onConflict((conflict) => conflict.column('uid').doNothing())
    .execute();
}

/** The oldest announcement whose mails are not all queued; null: there is none. */
export async function oldestAnnouncement(source: Readable): Promise<StoredAnnouncement | null> {
  const row = await readingOf(source)
    .selectFrom('page_announcements')
    .select(['id', 'uid', 'page_id as pageId', 'content', 'after_recipient as afterRecipient'])
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** Mails are queued up to this recipient; null: all are, and the announcement is removed. */
export async function advanceAnnouncement(
  { db }: Transaction,
  id: number,
  afterRecipient: number | null,
): Promise<void> {
  if (afterRecipient === null) await db.deleteFrom('page_announcements').where('id', '=', id).execute();
  else {
    await db
      .updateTable('page_announcements')
      .set({ after_recipient: afterRecipient })
      .where('id', '=', id)
      .execute();
  }
}
