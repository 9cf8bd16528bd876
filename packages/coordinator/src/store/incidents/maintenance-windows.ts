import { appendTo } from '@svc/shared/collections.ts';
import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { isTimeZone } from '../../verdict/local-time.ts';
import {
  FREQUENCIES,
  isDuring,
  type LiveWindow,
  nextOccurrence,
  type Repetition,
  WEEKDAYS,
  type WindowTimes,
} from '../../verdict/maintenance-window.ts';
import { idChunks, type Readable, readingOf } from '../queries.ts';
import type { Database } from '../schema.ts';
import type { Store, Transaction } from '../store.ts';
import { mutedWindows, mutesOf, muteWindow } from './mutes.ts';

const repetition = z.object({
  frequency: z.enum(FREQUENCIES),
  interval: z.number().int().positive(),
  weekdays: z.array(z.enum(WEEKDAYS)),
  week: z.number().int().nullable(),
  until: z.number().nullable(),
}) satisfies z.ZodType<Repetition>;

/**
 * The parts of a maintenance window that an operator writes. All ids
 * belong to objects in the window's workspace.
 */
export type WindowContent = Omit<WindowTimes, 'endedAt'> & {
  readonly title: string;
  readonly text: string;
  readonly monitorIds: readonly number[];
  readonly pageIds: readonly number[];
  readonly componentIds: readonly number[];
};

/** A window as it is stored. */
export type StoredWindow = WindowContent & {
  readonly id: number;
  readonly workspaceId: number;
  /** When an operator ended the window, epoch ms; null: no operator has ended it. */
  readonly endedAt: number | null;
  /**
   * The stored time zone, if this process does not know it. The window's times are then
   * read as UTC. Null: the process knows the time zone.
   */
  readonly unknownTimeZone: string | null;
  readonly rowVersion: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

export type WindowRow = Selectable<Database['maintenance_windows']>;
type Target = 'monitors' | 'pages' | 'components';

const COLUMN = { monitors: 'monitor_id', pages: 'page_id', components: 'component_id' } as const;
const TARGETS = ['monitors', 'pages', 'components'] as const;

/** Selects the windows that name this object. */
export type WindowFilter = { readonly target: Target; readonly id: number };

/** The windows of a workspace, by ascending id. */
export async function listWindows(
  source: Readable,
  workspaceId: number,
  filter: WindowFilter | null = null,
): Promise<StoredWindow[]> {
  const of =
    filter === null
      ? sql`TRUE`
      : sql`id IN (SELECT window_id FROM ${tableOf(filter.target)} WHERE ${sql.ref(COLUMN[filter.target])} = ${filter.id})`;
  const { rows } = await sql<WindowRow>`SELECT * FROM maintenance_windows
    WHERE workspace_id = ${workspaceId} AND ${of} ORDER BY id`.execute(readingOf(source));
  return completed(source, rows);
}

/** A window of the workspace; null: the workspace has no window with this id. */
export async function findWindow(
  source: Readable,
  workspaceId: number,
  id: number,
): Promise<StoredWindow | null> {
  const rows = await readingOf(source)
    .selectFrom('maintenance_windows')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .execute();
  return (await completed(source, rows))[0] ?? null;
}

/**
 * The windows that a page shows: windows that name the page, one of its components, or a monitor that the
 * page shows.
 */
export async function windowsOfPage(source: Readable, pageId: number): Promise<StoredWindow[]> {
  const { rows } = await sql<WindowRow>`SELECT * FROM maintenance_windows w
    WHERE w.workspace_id = (SELECT workspace_id FROM status_pages WHERE id = ${pageId}) AND w.id IN (
      SELECT window_id FROM maintenance_pages WHERE page_id = ${pageId}
      UNION SELECT mc.window_id FROM maintenance_components mc JOIN components c ON c.id = mc.component_id
        WHERE c.page_id = ${pageId}
      UNION SELECT mm.window_id FROM maintenance_monitors mm JOIN components c ON c.monitor_id = mm.monitor_id
        WHERE c.page_id = ${pageId})
    ORDER BY w.id`.execute(readingOf(source));
  return completed(source, rows);
}

/**
 * The times of the windows of these monitors, of any workspace, by monitor. A monitor without a window is
 * missing. Monitors of the same window get the same object.
 */
export async function windowTimesOf(
  source: Readable,
  monitorIds: readonly number[],
): Promise<ReadonlyMap<number, readonly WindowTimes[]>> {
  const found = new Map<number, WindowTimes[]>();
  const byWindow = new Map<number, WindowTimes>();
  for (const some of idChunks(monitorIds)) {
    const rows = await readingOf(source)
      .selectFrom('maintenance_monitors as m')
      .innerJoin('maintenance_windows as w', 'w.id', 'm.window_id')
      .selectAll('w')
      .select('m.monitor_id')
      .where('m.monitor_id', 'in', some)
      .orderBy('w.id')
      .execute();
    for (const row of rows) {
      const times = byWindow.get(row.id) ?? timesOf(row);
      byWindow.set(row.id, times);
      const known = found.get(row.monitor_id);
      if (known === undefined) found.set(row.monitor_id, [times]);
      else known.push(times);
    }
  }
  return found;
}

/** The windows of a monitor. `monitorIds` of each window has only this monitor. */
export async function windowsOfMonitor(
  { read }: Pick<Store, 'read'>,
  monitorId: number,
): Promise<LiveWindow[]> {
  const rows = await read
    .selectFrom('maintenance_monitors as m')
    .innerJoin('maintenance_windows as w', 'w.id', 'm.window_id')
    .selectAll('w')
    .where('m.monitor_id', '=', monitorId)
    .orderBy('w.id')
    .execute();
  return rows.map((row) => ({ id: row.id, monitorIds: [monitorId], times: timesOf(row) }));
}

/**
 * The windows and mutes with these ids (see `LiveWindow.id`), of any workspace, by id. They include windows
 * and mutes that are over. Windows and mutes that do not exist are missing.
 */
export async function liveWindowsOf(
  { read }: Pick<Store, 'read'>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, LiveWindow>> {
  const rows: WindowRow[] = [];
  for (const some of idChunks(ids.filter((id) => id > 0)))
    rows.push(
      ...(await read.selectFrom('maintenance_windows').selectAll().where('id', 'in', some).execute()),
    );
  const windows = (await completed({ read }, rows)).map(liveOf);
  const mutes = await mutesOf({ read }, ids.filter((id) => id < 0).map(Math.abs), 0);
  for (const { monitorId, until } of mutes.values()) windows.push(muteWindow(monitorId, until));
  return new Map(windows.map((window) => [window.id, window]));
}

/** All windows, of all workspaces, by ascending id. */
export async function allWindows(source: Readable): Promise<StoredWindow[]> {
  const rows = await readingOf(source).selectFrom('maintenance_windows').selectAll().orderBy('id').execute();
  return completed(source, rows);
}

/**
 * All windows that have an occurrence at or after `now` (epoch ms), and all mutes that are not over at `now`,
 * by their ids.
 */
export async function loadWindows(
  { read }: Pick<Store, 'read'>,
  now: number,
): Promise<ReadonlyMap<number, LiveWindow>> {
  const rows = await read.selectFrom('maintenance_windows').selectAll().orderBy('id').execute();
  const present = rows.filter((row) => nextOccurrence(timesOf(row), now) !== null);
  const windows = await completed({ read }, present);
  const all = [...windows.map(liveOf), ...(await mutedWindows({ read }, now))];
  return new Map(all.map((window) => [window.id, window]));
}

/** The windows whose time zone this process does not know: their ids and zones. */
export async function windowsOfUnknownZones({
  read,
}: Pick<Store, 'read'>): Promise<{ id: number; timeZone: string }[]> {
  const rows = await read
    .selectFrom('maintenance_windows')
    .select(['id', 'time_zone'])
    .orderBy('id')
    .execute();
  return rows
    .filter(({ time_zone: zone }) => !isTimeZone(zone))
    .map(({ id, time_zone: timeZone }) => ({ id, timeZone }));
}

export async function countWindows({ db }: Transaction, workspaceId: number): Promise<number> {
  const { count } = await db
    .selectFrom('maintenance_windows')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow();
  return count;
}

/** @param now epoch ms */
export async function insertWindow(
  tx: Transaction,
  workspaceId: number,
  content: WindowContent,
  now: number,
): Promise<number> {
  const { id } = await tx.db
    .insertInto('maintenance_windows')
    .values({ workspace_id: workspaceId, ...columnsOf(content), created_at: now, updated_at: now })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const target of TARGETS) await insertTargets(tx, target, id, content);
  return id;
}

/**
 * @param times.endedAt when an operator ended the window, epoch ms; null: no operator has ended it
 * @param times.now epoch ms
 */
export async function replaceWindow(
  tx: Transaction,
  id: number,
  content: WindowContent,
  { endedAt, now }: { endedAt: number | null; now: number },
): Promise<void> {
  await tx.db
    .updateTable('maintenance_windows')
    .set((row) => ({
      ...columnsOf(content),
      ended_at: endedAt,
      row_version: row('row_version', '+', 1),
      updated_at: now,
    }))
    .where('id', '=', id)
    .execute();
  for (const target of TARGETS) {
    await tx.runEach(`DELETE FROM maintenance_${target} WHERE window_id = ?`, [[id]]);
    await insertTargets(tx, target, id, content);
  }
}

/** @param now end of the window, epoch ms */
export async function endWindow({ db }: Transaction, id: number, now: number): Promise<void> {
  await db
    .updateTable('maintenance_windows')
    .set((row) => ({ ended_at: now, row_version: row('row_version', '+', 1), updated_at: now }))
    .where('id', '=', id)
    .execute();
}

export async function removeWindow(tx: Transaction, id: number): Promise<void> {
  await tx.runEach('DELETE FROM maintenance_windows WHERE id = ?', [[id]]);
}

async function insertTargets(
  tx: Transaction,
  target: Target,
  windowId: number,
  { monitorIds, pageIds, componentIds }: WindowContent,
): Promise<void> {
  const ids = { monitors: monitorIds, pages: pageIds, components: componentIds }[target];
  await tx.runEach(
    `INSERT INTO maintenance_${target} (window_id, ${COLUMN[target]}) VALUES (?, ?)`,
    [...new Set(ids)].map((id) => [windowId, id]),
  );
}

/** The windows of these rows, with the ids of their targets in ascending order. */
async function completed(source: Readable, rows: readonly WindowRow[]): Promise<StoredWindow[]> {
  const [monitors, pages, components] = await Promise.all(
    TARGETS.map((target) =>
      targetsOf(
        source,
        target,
        rows.map(({ id }) => id),
      ),
    ),
  );
  return rows.map((row) => ({
    ...timesOf(row),
    id: row.id,
    workspaceId: row.workspace_id,
    unknownTimeZone: isTimeZone(row.time_zone) ? null : row.time_zone,
    title: row.title,
    text: row.text,
    monitorIds: monitors?.get(row.id) ?? [],
    pageIds: pages?.get(row.id) ?? [],
    componentIds: components?.get(row.id) ?? [],
    rowVersion: row.row_version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }));
}

async function targetsOf(
  source: Readable,
  target: Target,
  windowIds: readonly number[],
): Promise<ReadonlyMap<number, number[]>> {
  const found = new Map<number, number[]>();
  for (const some of idChunks(windowIds)) {
    const { rows } = await sql<{ window_id: number; target_id: number }>`
      SELECT window_id, ${sql.ref(COLUMN[target])} AS target_id FROM ${tableOf(target)}
      WHERE window_id IN (${sql.join(some)}) ORDER BY window_id, target_id`.execute(readingOf(source));
    for (const { window_id, target_id } of rows) appendTo(found, window_id, target_id);
  }
  return found;
}

function tableOf(target: Target) {
  return sql.table(`maintenance_${target}`);
}

function columnsOf({ title, text, startsAt, endsAt, timeZone, repeat }: WindowContent) {
  return {
    title,
    text,
    starts_at: startsAt,
    ends_at: endsAt,
    time_zone: timeZone,
    repeat: repeat === null ? null : JSON.stringify(repeat),
  };
}

function timesOf({ starts_at, ends_at, time_zone, repeat, ended_at }: WindowRow): WindowTimes {
  return {
    startsAt: starts_at,
    endsAt: ends_at,
    // This process may not know the zone, although the version of Node that stored the window knew it. The
    // evaluation must not fail because of an unknown zone.
    timeZone: isTimeZone(time_zone) ? time_zone : 'UTC',
    repeat: repeat === null ? null : repetition.parse(JSON.parse(repeat)),
    endedAt: ended_at,
  };
}

function liveOf(window: StoredWindow): LiveWindow {
  const { id, monitorIds, startsAt, endsAt, timeZone, repeat, endedAt } = window;
  return { id, monitorIds, times: { startsAt, endsAt, timeZone, repeat, endedAt } };
}

/**
 * Maximum number of windows whose times are kept in memory. Ten workspaces with the maximum number of windows
 * have this many.
 */
const MOST_REMEMBERED = 10_000;

/**
 * Finds the maintenance windows with an occurrence in progress. Windows change
 * rarely, so their parsed times are kept in memory.
 */
export class MaintenanceNow {
  readonly #store: Pick<Store, 'read'>;
  /** The times of windows, by the window's id and version. */
  readonly #known = new Map<string, WindowTimes>();

  constructor(store: Pick<Store, 'read'>) {
    this.#store = store;
  }

  /**
   * The ids of the workspace's windows with an occurrence at this instant.
   *
   * @param now epoch ms on the slots' clock
   */
  async underWay(workspaceId: number, now: number): Promise<number[]> {
    const rows = await this.#store.read
      .selectFrom('maintenance_windows')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('starts_at', '<=', now)
      .where((row) => row.or([row('repeat', 'is not', null), row('ends_at', '>', now)]))
      .where((row) => row.or([row('ended_at', 'is', null), row('ended_at', '>', now)]))
      .orderBy('id')
      .execute();
    return rows.filter((row) => isDuring(this.#timesOf(row), now)).map(({ id }) => id);
  }

  #timesOf(row: WindowRow): WindowTimes {
    const key = `${row.id} ${row.row_version}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    const times = timesOf(row);
    this.#known.set(key, times);
    return times;
  }
}
