import { sql } from 'kysely';
import { jsonMember, numbersAs } from './dialect.ts';
import { hiddenMonitors } from './monitors.ts';
import type { Store } from './store.ts';

/** A component that a page shows. */
export type ShownComponent = { readonly id: number; readonly monitorId: number | null };

/** The components of a page, without those that a public page does not show because their monitor is not public. */
export async function componentsShownOn(
  store: Pick<Store, 'read'>,
  pageId: number,
): Promise<readonly ShownComponent[]> {
  const { rows } = await sql<{ id: number; monitor_id: number | null; access: string | null }>`
    SELECT c.id, c.monitor_id, ${jsonMember(sql`p.attributes`, 'access_type')} AS access
    FROM components c JOIN status_pages p ON p.id = c.page_id
    WHERE c.page_id = ${pageId} ORDER BY c.id`.execute(store.read);
  const isPublic = (rows[0]?.access ?? 'public') === 'public';
  const hidden = isPublic
    ? await hiddenMonitors(
        store,
        rows.flatMap((row) => row.monitor_id ?? []),
      )
    : null;
  return rows
    .filter(({ monitor_id: id }) => id === null || hidden === null || !hidden.has(id))
    .map(({ id, monitor_id: monitorId }) => ({ id, monitorId }));
}

/** A monitor that a page shows. */
export type ShownOn = { readonly monitorId: number; readonly name: string; readonly pageId: number };

/** The pages that show these monitors, without the public pages that hide them, and the names of the monitors. */
export async function pagesShowing(
  store: Pick<Store, 'read'>,
  monitorIds: readonly number[],
): Promise<readonly ShownOn[]> {
  const { rows } = await sql<ShownOn & { access: string | null }>`
    SELECT DISTINCT m.id AS "monitorId", m.name, c.page_id AS "pageId",
      ${jsonMember(sql`p.attributes`, 'access_type')} AS access
    FROM ${numbersAs(monitorIds, 'asked')} JOIN monitors m ON m.id = asked.value
      JOIN components c ON c.monitor_id = m.id JOIN status_pages p ON p.id = c.page_id
    ORDER BY m.id, c.page_id`.execute(store.read);
  const hidden = await hiddenMonitors(store, [...new Set(rows.map(({ monitorId }) => monitorId))]);
  return rows.filter(({ monitorId, access }) => (access ?? 'public') !== 'public' || !hidden.has(monitorId));
}

/**
 * A text that changes with each commit that changes the incidents with updates, or the maintenance windows, that a page
 * may show. It does not change with time.
 */
export async function versionOfNotes({ read }: Pick<Store, 'read'>, pageId: number): Promise<string> {
  const monitors = sql`SELECT monitor_id FROM components WHERE page_id = ${pageId} AND monitor_id IS NOT NULL`;
  const named = sql`SELECT incident_id FROM incident_pages WHERE page_id = ${pageId}`;
  const { rows: windows } = await sql<Counts>`
    SELECT count(*) AS many, max(id) AS last, sum(row_version) AS versions, max(updated_at) AS changed
    FROM maintenance_windows w WHERE ${windowOf(pageId)}`.execute(read);
  const { rows: incidents } = await sql<Counts>`
    SELECT count(*) AS many, max(id) AS last, sum(row_version) AS versions, sum(coalesce(closed_at, 0)) AS changed
    FROM incidents WHERE id IN (${named})`.execute(read);
  const { rows: updates } = await sql<Counts>`
    SELECT count(*) AS many, max(u.id) AS last, sum(u.row_version + i.row_version) AS versions,
      max(u.updated_at) AS changed
    FROM incident_updates u JOIN incidents i ON i.id = u.incident_id
    WHERE i.monitor_id IN (${monitors}) OR i.id IN (${named})`.execute(read);
  return JSON.stringify([...windows, ...incidents, ...updates].map((row) => Object.values(row)));
}

type Counts = { many: number; last: number | null; versions: number | null; changed: number | null };

/** For WHERE: whether the window `w` is one that the page may show. */
function windowOf(pageId: number) {
  return sql`w.id IN (
    SELECT window_id FROM maintenance_pages WHERE page_id = ${pageId}
    UNION SELECT mc.window_id FROM maintenance_components mc JOIN components c ON c.id = mc.component_id
      WHERE c.page_id = ${pageId}
    UNION SELECT mm.window_id FROM maintenance_monitors mm JOIN components c ON c.monitor_id = mm.monitor_id
      WHERE c.page_id = ${pageId})`;
}
