import { sql } from 'kysely';
import { jsonFlag, jsonMember } from '../dialect.ts';
import { factOrNew, readFact, writeFact } from '../facts.ts';
import { type StoredIncident, type StoredUpdate, updatesAfter } from '../incidents/incidents.ts';
import type { StoredWindow } from '../incidents/maintenance-windows.ts';
import { type Readable, readingOf, wholeMs } from '../queries.ts';
import type { Transaction } from '../store.ts';

/*
 * Announcements to subscribers of status pages: the changes that are still to be announced, and the
 * announcements whose mails are being queued. This first part is about statuses of monitors.
 */

/**
 * Maximum number of rows per query. When a call has found at least this many
 * changes, it leaves further changes to the next call.
 */
const ROWS_PER_READ = 500;

/**
 * The status of a monitor on a page. It differs from the status that
 * was last announced to the page's subscribers.
 */
export type UntoldChange = {
  readonly pageId: number;
  readonly monitorId: number;
  /** The name of the monitor on the page. */
  readonly name: string;
  readonly status: 'active' | 'degraded' | 'error';
  /** Identifies the change to this status, see `MonitorState.statusSlot`. */
  readonly statusSlot: number;
};

type ChangeRow = {
  id: number;
  page_id: number;
  monitor_id: number;
  component_name: string | null;
  monitor_name: string;
  status: UntoldChange['status'];
  status_slot: number;
};

/**
 * The status changes that are not yet announced to subscribers, by page and component. Only published pages
 * are included. The page must have subscribers, or must have announced a problem of the monitor and not yet
 * its end. Monitors whose status is `unknown` are left out, and on pages with public access those that are not
 * public.
 *
 * @param isHeld whether announcements about the monitor are held now
 */
export async function untoldChanges(
  source: Readable,
  isHeld: (monitorId: number) => boolean,
): Promise<UntoldChange[]> {
  // A page may show a monitor twice. The monitor then gets the name of its first component.
  const found = new Map<string, UntoldChange>();
  let rows = await changesAfter(source, { page_id: 0, id: 0 });
  // Announcements may be held for hours. Changes that follow held changes in the list must not wait that
  // long, so reading continues.
  for (;;) {
    for (const row of rows) {
      const key = `${row.page_id} ${row.monitor_id}`;
      if (found.has(key) || isHeld(row.monitor_id)) continue;
      const name = row.component_name ?? row.monitor_name;
      const { page_id: pageId, monitor_id: monitorId, status, status_slot: statusSlot } = row;
      found.set(key, { pageId, monitorId, name, status, statusSlot });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_READ || found.size >= ROWS_PER_READ) break;
    rows = await changesAfter(source, last);
  }
  return [...found.values()];
}

/**
 * The next components after this component, by page and id: those whose monitor has a status
 * that {@link untoldChanges} returns.
 */
async function changesAfter(
  source: Readable,
  { page_id: pageId, id }: Pick<ChangeRow, 'page_id' | 'id'>,
): Promise<ChangeRow[]> {
  const { rows } = await sql<ChangeRow>`
    SELECT c.id, c.page_id, c.monitor_id, ${jsonMember(sql`c.attributes`, 'name')} AS component_name,
      m.name AS monitor_name, s.status, s.status_slot
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

/** Stores the statuses that are announced to the subscribers of pages now. */
export async function storeToldStatuses(tx: Transaction, changes: readonly UntoldChange[]): Promise<void> {
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

/**
 * Deletes the status that is stored as announced for a page and a
 * monitor, if the page no longer shows the monitor.
 */
export async function forgetHiddenMonitors({ db }: Transaction): Promise<void> {
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

/** An announcement whose mails are not all queued yet. */
export type StoredAnnouncement = {
  readonly id: number;
  readonly uid: string;
  readonly pageId: number;
  /** JSON, see `pages/subscribers/announcements.ts`. */
  readonly content: string;
  /** The last recipient whose mail is queued; 0: none. */
  readonly afterRecipient: number;
};

/**
 * Stores an announcement, unless an announcement with the same uid is stored.
 *
 * @param at epoch ms
 */
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

/** The oldest announcement with mails that are not queued yet; null: there is none. */
export async function oldestAnnouncement(source: Readable): Promise<StoredAnnouncement | null> {
  const row = await readingOf(source)
    .selectFrom('page_announcements')
    .select(['id', 'uid', 'page_id as pageId', 'content', 'after_recipient as afterRecipient'])
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Stores that the mails of an announcement are queued up to this recipient. Null: all mails are queued, and
 * the announcement is removed.
 */
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

/*
 * Announcements of updates that operators write about incidents. The ids of updates grow in the order of the
 * commits, so one number says which updates were announced to subscribers.
 */

const UPDATES_TOLD = 'updates_told';
/** Maximum number of updates that a call of {@link untoldUpdates} returns. */
const UPDATES_PER_LOOK = 50;

export type IncidentNews = { readonly update: StoredUpdate; readonly incident: StoredIncident };

/**
 * The oldest updates that are not yet announced to subscribers, by ascending id. The list is empty if
 * {@link beginTellingUpdates} was never called.
 */
export async function untoldUpdates(source: Readable): Promise<IncidentNews[]> {
  const told = await readFact(readingOf(source), UPDATES_TOLD);
  return told === null ? [] : updatesAfter(source, Number(told), UPDATES_PER_LOOK);
}

/** Stores that the updates up to this id were announced. */
export async function storeToldUpdates({ db }: Transaction, id: number): Promise<void> {
  await writeFact(db, UPDATES_TOLD, String(id));
}

/** At its first call, stores that all present updates count as announced. Later calls change nothing. */
export async function beginTellingUpdates({ db }: Transaction): Promise<void> {
  if ((await readFact(db, UPDATES_TOLD)) !== null) return;
  const newest = await db
    .selectFrom('incident_updates')
    .select(({ fn }) => fn.max('id').as('id'))
    .executeTakeFirst();
  await writeFact(db, UPDATES_TOLD, String(newest?.id ?? 0));
}

/** A published page that shows an incident. */
export type TellingPage = {
  readonly pageId: number;
  /** The name of the incident's monitor on the page; null: the page does not show it, or there is none. */
  readonly monitorName: string | null;
  /** Names of the affected components that the page shows. */
  readonly components: readonly string[];
};

type ShownRow = { page_id: number; name: string | null; is_monitor: number; is_affected: number };

/**
 * The published pages that show an incident: the pages that the incident names or, if it names no page, the
 * pages that show its monitor. A page with public access shows only public monitors.
 */
export async function pagesOfIncident(
  source: Readable,
  { incident, update }: IncidentNews,
): Promise<TellingPage[]> {
  const db = readingOf(source);
  const monitorId = incident.monitor_id ?? 0;
  const affected = sql.join([0, ...update.componentIds]);
  const { rows } = await sql<ShownRow>`
    SELECT c.page_id, coalesce(${jsonMember(sql`c.attributes`, 'name')}, m.name) AS name,
      CASE WHEN c.monitor_id = ${monitorId} THEN 1 ELSE 0 END AS is_monitor,
      CASE WHEN c.id IN (${affected}) THEN 1 ELSE 0 END AS is_affected
    FROM components c JOIN status_pages p ON p.id = c.page_id LEFT JOIN monitors m ON m.id = c.monitor_id
    WHERE p.published = 1 AND (c.monitor_id = ${monitorId} OR c.id IN (${affected}))
      AND (m.id IS NULL OR ${jsonMember(sql`p.attributes`, 'access_type')} <> 'public'
        OR ${jsonFlag(sql`m.attributes`, 'public')} = 1)
    ORDER BY c.page_id, c.id`.execute(db);
  const shownBy = Map.groupBy(rows, (row) => row.page_id);
  const showing = [...shownBy].flatMap(([id, shown]) => (shown.some(isMonitor) ? [id] : []));
  const ids = incident.pageIds.length > 0 ? await publishedOf(source, incident.pageIds) : showing;
  return ids.map((pageId) => {
    const shown = shownBy.get(pageId) ?? [];
    const components = shown.filter(({ is_affected: isAffected }) => isAffected === 1);
    return {
      pageId,
      monitorName: shown.find(isMonitor)?.name ?? null,
      components: components.flatMap(({ name }) => name ?? []),
    };
  });
}

function isMonitor(row: ShownRow): boolean {
  return row.is_monitor === 1;
}

/** Returns which of these ids belong to published pages, in ascending order. */
export async function publishedOf(source: Readable, ids: readonly number[]): Promise<number[]> {
  const rows = await readingOf(source)
    .selectFrom('status_pages')
    .select('id')
    .where('id', 'in', ids)
    .where('published', '=', 1)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/* Announcements of maintenance windows to subscribers. */

const WINDOWS_TOLD_SINCE = 'windows_told_since';

/** When a version that announces windows started for the first time, epoch ms; null: none has started yet. */
export async function windowsToldSince(source: Readable): Promise<number | null> {
  const since = await readFact(readingOf(source), WINDOWS_TOLD_SINCE);
  return since === null ? null : Number(since);
}

/**
 * At its first call, stores `now` as {@link windowsToldSince}. Later calls change nothing.
 *
 * @param now epoch ms
 */
export async function beginTellingWindows({ db }: Transaction, now: number): Promise<void> {
  await factOrNew(db, WINDOWS_TOLD_SINCE, () => String(Math.floor(now)));
}

/**
 * The last announcements of a window to a page's subscribers. `announcedFrom`: beginning of the occurrence that
 * was announced in advance, epoch ms. `begunFrom`: beginning of the occurrence that was announced when it
 * began, epoch ms. Null: no occurrence was announced so. `isOver`: the end of the occurrence of `begunFrom` was
 * announced too.
 */
export type ToldWindow = {
  readonly pageId: number;
  readonly windowId: number;
  readonly announcedFrom: number | null;
  readonly begunFrom: number | null;
  readonly isOver: boolean;
};

/** The last announcements of each window to the subscribers of each page, by page and window. */
export async function toldWindows(source: Readable): Promise<ToldWindow[]> {
  const rows = await readingOf(source)
    .selectFrom('page_windows_told')
    .selectAll()
    .orderBy('page_id')
    .orderBy('window_id')
    .execute();
  return rows.map((row) => ({
    pageId: row.page_id,
    windowId: row.window_id,
    announcedFrom: row.announced_from,
    begunFrom: row.begun_from,
    isOver: row.is_over === 1,
  }));
}

export async function storeToldWindow({ db }: Transaction, told: ToldWindow): Promise<void> {
  const values = {
    announced_from: told.announcedFrom,
    begun_from: told.begunFrom,
    is_over: Number(told.isOver),
  };
  await db
    .insertInto('page_windows_told')
    .values({ page_id: told.pageId, window_id: told.windowId, ...values })
    .onConflict((conflict) => conflict.columns(['page_id', 'window_id']).doUpdateSet(values))
    .execute();
}

/**
 * The ids of the published pages that show a maintenance window, each with
 * the names of the page's affected components.
 */
export async function pagesOfWindow(
  source: Readable,
  { workspaceId, pageIds, componentIds, monitorIds }: StoredWindow,
): Promise<ReadonlyMap<number, readonly string[]>> {
  const { rows } = await sql<{ page_id: number; name: string | null }>`
    SELECT c.page_id, coalesce(${jsonMember(sql`c.attributes`, 'name')}, m.name) AS name
    FROM components c JOIN status_pages p ON p.id = c.page_id LEFT JOIN monitors m ON m.id = c.monitor_id
    WHERE p.published = 1 AND p.workspace_id = ${workspaceId}
      AND (c.id IN (${sql.join([0, ...componentIds])}) OR c.monitor_id IN (${sql.join([0, ...monitorIds])}))
      AND (CASE WHEN m.id IS NULL THEN ${jsonMember(sql`c.attributes`, 'type')} = 'static'
        ELSE ${jsonMember(sql`p.attributes`, 'access_type')} <> 'public'
          OR ${jsonFlag(sql`m.attributes`, 'public')} = 1 END)
    ORDER BY c.page_id, c.id`.execute(readingOf(source));
  const found = new Map<number, readonly string[]>();
  for (const pageId of pageIds.length === 0 ? [] : await publishedOf(source, pageIds)) found.set(pageId, []);
  for (const { page_id: pageId, name } of rows)
    found.set(pageId, [...(found.get(pageId) ?? []), ...(name === null ? [] : [name])]);
  return found;
}
