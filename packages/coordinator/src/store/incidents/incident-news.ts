import { sql } from 'kysely';
import { jsonFlag, jsonMember } from '../dialect.ts';
import { readFact, writeFact } from '../facts.ts';
import { type Readable, readingOf } from '../reading-of.ts';
import type { Transaction } from '../store.ts';
import { type StoredIncident, type StoredUpdate, updatesAfter } from './incidents.ts';

/*
 * What operators tell about incidents, for the subscribers of pages. Ids of updates grow in the order of the commits, so
 * one number says which of them were told.
 */

const FACT = 'updates_told';
/** Updates that one look takes. */
const UPDATES_PER_LOOK = 50;

export type IncidentNews = { readonly update: StoredUpdate; readonly incident: StoredIncident };

/** Updates that subscribers were not told, by ascending id. None before {@link beginTellingUpdates}. */
export async function untoldUpdates(source: Readable): Promise<IncidentNews[]> {
  const told = await readFact(readingOf(source), FACT);
  return told === null ? [] : updatesAfter(source, Number(told), UPDATES_PER_LOOK);
}

/** Notes that updates up to this one are told. */
export async function noteUpdatesTold({ db }: Transaction, id: number): Promise<void> {
  await writeFact(db, FACT, String(id));
}

/** Updates of before the first start of a version that tells them count as told. */
export async function beginTellingUpdates({ db }: Transaction): Promise<void> {
  if ((await readFact(db, FACT)) !== null) return;
  const newest = await db
    .selectFrom('incident_updates')
    .select(({ fn }) => fn.max('id').as('id'))
    .executeTakeFirst();
  await writeFact(db, FACT, String(newest?.id ?? 0));
}

/** A published page that shows an incident. */
export type TellingPage = {
  readonly pageId: number;
  /** What the page calls the incident's monitor; null: it does not show it. */
  readonly monitorName: string | null;
  /** Names of the affected components that the page shows. */
  readonly components: readonly string[];
};

type ShownRow = { page_id: number; name: string | null; is_monitor: number; is_affected: number };

/**
 * The published pages that show an incident: those that it names, otherwise those that show its monitor. A page that
 * everybody may see shows only monitors that are public.
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

/** Those of these pages that are published, ascending. */
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
