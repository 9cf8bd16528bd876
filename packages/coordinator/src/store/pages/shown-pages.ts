import { sql } from 'kysely';
import type { MonitorStatus } from '../../verdict/monitor.ts';
import type { Row } from '../declaration/resources.ts';
import { jsonFlag, jsonRows, numbersAs } from '../dialect.ts';
import { idChunks } from '../queries.ts';
import type { Store } from '../store.ts';

type Source = Pick<Store, 'read'>;

/** The name by which a visitor requests a page. It is unique over all workspaces. */
export type PageName = { readonly slug: string };

/**
 * The published page with this name, and its version. The version is a text that changes with each commit
 * that changes the page's content (see `migrations/shown-versions.ts`). Passing time does not change the
 * version. Undefined: there is no such page, or it is not published.
 *
 * Call this before reading the page's content. If a commit changes the content in between, the next call
 * returns another version, and the page is read again.
 */
export async function publishedPage(
  { read }: Source,
  { slug }: PageName,
): Promise<{ readonly row: Row<'status_pages'>; readonly version: string } | undefined> {
  const row = await read
    .selectFrom('status_pages as p')
    .selectAll('p')
    .select(({ selectFrom }) =>
      selectFrom('components as c')
        .innerJoin('monitor_states as s', 's.monitor_id', 'c.monitor_id')
        .select(({ fn }) => fn.sum<number | null>('s.shown_version').as('sum'))
        .whereRef('c.page_id', '=', 'p.id')
        .as('of_monitors'),
    )
    .where('p.published', '=', 1)
    .where('p.slug', '=', slug)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  // The version number of each monitor only grows. The set of the page's monitors changes
  // only together with the version number of the page. So a combination of the page's number
  // and the sum of the monitors' numbers never occurs twice.
  return { row, version: `${row.id}.${row.shown_version}.${row.of_monitors ?? 0}` };
}

/** The groups and components of a page by ascending id: at most `limit` groups and `limit` components. */
export async function partsOfShownPage(
  { read }: Source,
  pageId: number,
  limit: number,
): Promise<{ groups: Row<'component_groups'>[]; components: Row<'components'>[] }> {
  const of = <T extends 'component_groups' | 'components'>(table: T) =>
    read
      .selectFrom<'component_groups' | 'components'>(table)
      .selectAll()
      .where('page_id', '=', pageId)
      .orderBy('id')
      .limit(limit)
      .execute();
  const groups = await of('component_groups');
  const components = await of('components');
  return { groups, components: components as Row<'components'>[] };
}

/** The parts of a monitor that pages may show. */
export type ShownMonitor = {
  readonly id: number;
  readonly name: string;
  readonly isPublic: boolean;
  readonly status: MonitorStatus;
  /** The beginning of the status, epoch ms; null: no status is stored yet, and `status` is `unknown`. */
  readonly since: number | null;
};

/** The existing monitors with these ids, in any order, without their probed attributes. */
export async function shownMonitors({ read }: Source, ids: readonly number[]): Promise<ShownMonitor[]> {
  const found: ShownMonitor[] = [];
  for (const some of idChunks(ids)) {
    const rows = await read
      .selectFrom('monitors as m')
      .leftJoin('monitor_states as s', 's.monitor_id', 'm.id')
      .select(['m.id', 'm.name', 's.status', 's.since'])
      .select(jsonFlag(sql`m.attributes`, 'public').as('is_public'))
      .where('m.id', 'in', some)
      .execute();
    for (const { id, name, status, since, is_public: isPublic } of rows) {
      found.push({ id, name, isPublic: isPublic === 1, status: status ?? 'unknown', since });
    }
  }
  return found;
}

/** An incident of a monitor. Instants are epoch ms. */
export type ShownIncident = {
  readonly id: number;
  readonly monitorId: number;
  readonly openedAt: number;
  /** When the incident ended; null: it is open. */
  readonly closedAt: number | null;
  /**
   * Why the incident ended although the monitor did not recover; null: the monitor recovered, or the incident
   * is open.
   */
  readonly closure: string | null;
  readonly wasDown: boolean;
  /**
   * The latest changes of the monitor's status during the incident, at most {@link CHANGES}, oldest first.
   */
  readonly changes: readonly { readonly at: number; readonly status: MonitorStatus }[];
};

/** Maximum number of status changes that are read for an incident. A monitor may flap for days. */
const CHANGES = 20;

type IncidentRow = {
  id: number;
  monitor_id: number;
  opened_at: number;
  closed_at: number | null;
  closure: string | null;
  was_down: number;
  changes: string;
};

/**
 * The incidents of these monitors that are open, or ended at `from` or later.
 * Returns at most `limit` incidents, newest first.
 *
 * @param from epoch ms
 */
export async function shownIncidents(
  { read }: Source,
  monitorIds: readonly number[],
  { from, limit }: { from: number; limit: number },
): Promise<ShownIncident[]> {
  const ofIncident = sql`FROM transitions t WHERE t.monitor_id = i.monitor_id AND t.from_status <> t.to_status
    AND t.at >= i.opened_at AND t.incident = i.key`;
  const { rows } = await sql<IncidentRow>`
    SELECT i.id, i.monitor_id, i.opened_at, i.closed_at, i.closure,
      EXISTS (SELECT 1 ${ofIncident} AND t.to_status = 'error') AS was_down,
      (SELECT ${jsonRows(['at', 'to_status'], ['at', 'id'])} FROM
        (SELECT t.at, t.id, t.to_status ${ofIncident} ORDER BY t.at DESC, t.id DESC LIMIT ${CHANGES}) AS latest
      ) AS changes
    FROM (SELECT i.* FROM ${numbersAs(monitorIds, 'monitor')} JOIN incidents i ON i.monitor_id = monitor.value
      WHERE i.closed_at IS NULL OR i.closed_at >= ${from}
      ORDER BY i.opened_at DESC, i.id DESC LIMIT ${limit}) AS i
    ORDER BY i.opened_at DESC, i.id DESC`.execute(read);
  return rows.map((row) => ({
    id: row.id,
    monitorId: row.monitor_id,
    openedAt: row.opened_at,
    closedAt: row.closed_at,
    closure: row.closure,
    wasDown: Boolean(row.was_down),
    // The query made this text from columns of these types, so it is not parsed by a schema.
    changes: (JSON.parse(row.changes) as [number, MonitorStatus][]).map(([at, status]) => ({ at, status })),
  }));
}
