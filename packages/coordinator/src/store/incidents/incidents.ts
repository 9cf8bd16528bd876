import { appendTo } from '@svc/shared/collections.ts';
import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import type { Impact, UpdateState } from '../../verdict/incident-updates.ts';
import { numbersAs } from '../dialect.ts';
import { idChunks, type Readable, readingOf } from '../queries.ts';
import type { Database } from '../schema.ts';
import type { Transaction } from '../store.ts';

export type IncidentRow = Selectable<Database['incidents']>;

/**
 * An incident with the ids of the pages that it names. One table has both the incidents of monitors and the
 * incidents that people write, so updates can belong to either kind.
 */
export type StoredIncident = IncidentRow & { readonly pageIds: readonly number[] };

const componentList = z.array(z.number().int());

/** An update that people wrote about an incident. */
export type StoredUpdate = Omit<Selectable<Database['incident_updates']>, 'component_ids'> & {
  readonly componentIds: readonly number[];
};

/**
 * The parts of an incident that an operator writes. `title` null: the incident of a monitor is shown under
 * the monitor's name. An incident without a monitor has a title.
 */
export type IncidentContent = {
  readonly title: string | null;
  readonly impact: Impact;
  readonly pageIds: readonly number[];
};

export type UpdateContent = {
  readonly state: UpdateState;
  readonly text: string;
  readonly componentIds: readonly number[];
  /** Epoch ms. */
  readonly at: number;
};

export type IncidentSearch = {
  readonly workspaceId: number;
  /** Only incidents with a smaller id; null: begin with the newest. */
  readonly beforeId: number | null;
  readonly limit: number;
  readonly isOpen?: boolean | undefined;
  readonly monitorId?: number | undefined;
  readonly pageId?: number | undefined;
};

/** The incidents that match, by descending id, at most `limit`. */
export async function newestIncidents(source: Readable, search: IncidentSearch): Promise<StoredIncident[]> {
  const { workspaceId, beforeId, limit, isOpen, monitorId, pageId } = search;
  let query = readingOf(source).selectFrom('incidents').selectAll().where('workspace_id', '=', workspaceId);
  if (beforeId !== null) query = query.where('id', '<', beforeId);
  if (isOpen !== undefined) query = query.where('closed_at', isOpen ? 'is' : 'is not', null);
  if (monitorId !== undefined) query = query.where('monitor_id', '=', monitorId);
  if (pageId !== undefined) query = query.where(ofPage(pageId));
  return withPages(source, await query.orderBy('id', 'desc').limit(limit).execute());
}

/** An incident of the workspace; null: the workspace has no incident with this id. */
export async function findIncident(
  source: Readable,
  workspaceId: number,
  id: number,
): Promise<StoredIncident | null> {
  const rows = await readingOf(source)
    .selectFrom('incidents')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .execute();
  return (await withPages(source, rows))[0] ?? null;
}

/**
 * The incidents that a page shows with text: incidents that name the page, and incidents of these monitors
 * that name no page. An incident is included only if it has an update, and if it is open or ended at `from`
 * (epoch ms) or later. Returns at most 200 incidents, newest first.
 */
export async function writtenIncidents(
  source: Readable,
  { pageId, monitorIds, from }: { pageId: number; monitorIds: readonly number[]; from: number },
): Promise<StoredIncident[]> {
  // The subquery in place of EXISTS keeps PostgreSQL from reading all updates for a join.
  const { rows } = await sql<IncidentRow>`SELECT * FROM (
      SELECT i.* FROM incident_pages p JOIN incidents i ON i.id = p.incident_id WHERE p.page_id = ${pageId}
      UNION ALL
      SELECT i.* FROM ${numbersAs(monitorIds, 'shown')} JOIN incidents i ON i.monitor_id = shown.value
        WHERE (SELECT min(p.page_id) FROM incident_pages p WHERE p.incident_id = i.id) IS NULL) AS i
    WHERE (i.closed_at IS NULL OR i.closed_at >= ${from})
      AND (SELECT min(u.id) FROM incident_updates u WHERE u.incident_id = i.id) IS NOT NULL
    ORDER BY i.opened_at DESC, i.id DESC LIMIT 200`.execute(readingOf(source));
  return withPages(source, rows);
}

/** @param openedAt epoch ms */
export async function insertIncident(
  tx: Transaction,
  workspaceId: number,
  { title, impact, pageIds }: IncidentContent,
  openedAt: number,
): Promise<number> {
  const { id } = await tx.db
    .insertInto('incidents')
    .values({ workspace_id: workspaceId, title, impact, opened_at: openedAt })
    .returning('id')
    .executeTakeFirstOrThrow();
  await insertPages(tx, id, pageIds);
  return id;
}

export async function replaceIncident(
  tx: Transaction,
  id: number,
  { title, impact, pageIds }: IncidentContent,
): Promise<void> {
  await tx.db
    .updateTable('incidents')
    .set((row) => ({ title, impact, row_version: row('row_version', '+', 1) }))
    .where('id', '=', id)
    .execute();
  await tx.runEach('DELETE FROM incident_pages WHERE incident_id = ?', [[id]]);
  await insertPages(tx, id, pageIds);
}

/** @param closedAt end of the incident, epoch ms; null: the incident is open */
export async function setIncidentClosed(
  { db }: Transaction,
  id: number,
  closedAt: number | null,
): Promise<void> {
  await db.updateTable('incidents').set({ closed_at: closedAt }).where('id', '=', id).execute();
}

/**
 * When an incident was acknowledged (epoch ms), the name of the token that did it, and a note; null: no note.
 */
export type Acknowledgement = { readonly at: number; readonly by: string; readonly note: string | null };

/** @param acknowledgement null: removes the acknowledgement */
export async function setAcknowledged(
  { db }: Transaction,
  id: number,
  acknowledgement: Acknowledgement | null,
): Promise<void> {
  const { at = null, by = null, note = null } = acknowledgement ?? {};
  await db
    .updateTable('incidents')
    .set((row) => ({
      ...{ acknowledged_at: at, acknowledged_by: by, acknowledged_note: note },
      row_version: row('row_version', '+', 1),
    }))
    .where('id', '=', id)
    .execute();
}

/** The acknowledgement in a row; null: the incident is not acknowledged. */
export function acknowledgementOf(
  row: Pick<IncidentRow, 'acknowledged_at' | 'acknowledged_by' | 'acknowledged_note'>,
): Acknowledgement | null {
  const { acknowledged_at: at, acknowledged_by: by, acknowledged_note: note } = row;
  return at === null || by === null ? null : { at, by, note };
}

/**
 * The acknowledgements of the open incidents of these monitors, by monitor. A monitor without one is missing.
 */
export async function acknowledgedIncidents(
  source: Readable,
  monitorIds: readonly number[],
): Promise<ReadonlyMap<number, Acknowledgement & { readonly incidentId: number }>> {
  const found = new Map<number, Acknowledgement & { incidentId: number }>();
  for (const some of idChunks(monitorIds)) {
    const rows = await readingOf(source)
      .selectFrom('incidents')
      .selectAll()
      .where('monitor_id', 'in', some)
      .where('closed_at', 'is', null)
      .execute();
    for (const row of rows) {
      const acknowledgement = acknowledgementOf(row);
      if (row.monitor_id !== null && acknowledgement !== null)
        found.set(row.monitor_id, { ...acknowledgement, incidentId: row.id });
    }
  }
  return found;
}

/** Removes the incident with its updates. */
export async function removeIncident(tx: Transaction, id: number): Promise<void> {
  await tx.runEach('DELETE FROM incidents WHERE id = ?', [[id]]);
}

/**
 * The updates of these incidents, by incident, and by ascending id. An incident without updates is missing.
 */
export async function updatesOf(
  source: Readable,
  incidentIds: readonly number[],
): Promise<ReadonlyMap<number, readonly StoredUpdate[]>> {
  const found = new Map<number, StoredUpdate[]>();
  for (const some of idChunks(incidentIds)) {
    const rows = await readingOf(source)
      .selectFrom('incident_updates')
      .selectAll()
      .where('incident_id', 'in', some)
      .orderBy('incident_id')
      .orderBy('id')
      .execute();
    for (const row of rows) {
      const known = found.get(row.incident_id);
      if (known === undefined) found.set(row.incident_id, [storedUpdate(row)]);
      else known.push(storedUpdate(row));
    }
  }
  return found;
}

/**
 * The next updates after `afterId` in the order of their commits, at most `limit`, each with its incident.
 * The caller stores the id of the last update that it has announced. An update that was removed before this
 * call is missing.
 */
export async function updatesAfter(
  source: Readable,
  afterId: number,
  limit: number,
): Promise<{ update: StoredUpdate; incident: StoredIncident }[]> {
  const rows = await readingOf(source)
    .selectFrom('incident_updates')
    .selectAll()
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute();
  const ids = [...new Set(rows.map(({ incident_id }) => incident_id))];
  const incidents = ids.length === 0 ? [] : await incidentsByIds(source, ids);
  const byId = new Map(incidents.map((incident) => [incident.id, incident]));
  return rows.flatMap((row) => {
    const incident = byId.get(row.incident_id);
    return incident === undefined ? [] : [{ update: storedUpdate(row), incident }];
  });
}

/** @param now epoch ms */
export async function insertUpdate(
  { db }: Transaction,
  incidentId: number,
  { state, text, componentIds, at }: UpdateContent,
  now: number,
): Promise<number> {
  const { id } = await db
    .insertInto('incident_updates')
    .values({
      incident_id: incidentId,
      state,
      text,
      component_ids: JSON.stringify(componentIds),
      at,
      created_at: now,
      updated_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** @param now epoch ms */
export async function replaceUpdate(
  { db }: Transaction,
  id: number,
  { state, text, componentIds, at }: UpdateContent,
  now: number,
): Promise<void> {
  await db
    .updateTable('incident_updates')
    .set((row) => ({
      state,
      text,
      component_ids: JSON.stringify(componentIds),
      at,
      row_version: row('row_version', '+', 1),
      updated_at: now,
    }))
    .where('id', '=', id)
    .execute();
}

export async function removeUpdate(tx: Transaction, id: number): Promise<void> {
  await tx.runEach('DELETE FROM incident_updates WHERE id = ?', [[id]]);
}

async function incidentsByIds(source: Readable, ids: readonly number[]): Promise<StoredIncident[]> {
  const rows: IncidentRow[] = [];
  for (const some of idChunks(ids))
    rows.push(
      ...(await readingOf(source).selectFrom('incidents').selectAll().where('id', 'in', some).execute()),
    );
  return withPages(source, rows);
}

async function withPages(source: Readable, rows: readonly IncidentRow[]): Promise<StoredIncident[]> {
  const pages = new Map<number, number[]>();
  for (const some of idChunks(rows.map(({ id }) => id))) {
    const found = await readingOf(source)
      .selectFrom('incident_pages')
      .selectAll()
      .where('incident_id', 'in', some)
      .orderBy('page_id')
      .execute();
    for (const { incident_id, page_id } of found) appendTo(pages, incident_id, page_id);
  }
  return rows.map((row) => ({ ...row, pageIds: pages.get(row.id) ?? [] }));
}

async function insertPages(tx: Transaction, incidentId: number, pageIds: readonly number[]): Promise<void> {
  await tx.runEach(
    'INSERT INTO incident_pages (incident_id, page_id) VALUES (?, ?)',
    [...new Set(pageIds)].map((pageId) => [incidentId, pageId]),
  );
}

/**
 * SQL condition that selects the incidents that name the page, and the
 * incidents of the page's monitors that name no page.
 */
function ofPage(pageId: number) {
  return sql<boolean>`(id IN (SELECT incident_id FROM incident_pages WHERE page_id = ${pageId})
    OR (monitor_id IN (SELECT monitor_id FROM components WHERE page_id = ${pageId})
      AND NOT EXISTS (SELECT 1 FROM incident_pages p WHERE p.incident_id = incidents.id)))`;
}

function storedUpdate({ component_ids, ...row }: Selectable<Database['incident_updates']>): StoredUpdate {
  return { ...row, componentIds: componentList.parse(JSON.parse(component_ids)) };
}
