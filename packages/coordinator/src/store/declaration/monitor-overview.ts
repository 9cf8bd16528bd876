import { type RawBuilder, sql } from 'kysely';
import type { MonitorStatus } from '../../verdict/monitor.ts';
import { containsText, numbersAs } from '../dialect.ts';
import type { Store } from '../store.ts';

/**
 * The states that a list of monitors shows: the statuses, and `paused` for a monitor that is not checked. The
 * most urgent state comes first.
 */
export const SHOWN_STATES = ['error', 'degraded', 'unknown', 'active', 'paused'] as const;
export type ShownState = (typeof SHOWN_STATES)[number];

/**
 * Orders of the list. `state` puts the most urgent state first, and within a state the newest change of
 * status.
 */
export const OVERVIEW_ORDERS = ['state', 'name', '-name', 'since', '-since', 'id'] as const;
export type OverviewOrder = (typeof OVERVIEW_ORDERS)[number];

/** What may hold alerts of a monitor or its reminders, in whatever state the monitor is. Each is a filter of the list. */
export const OVERVIEW_MARKS = ['maintenance', 'muted', 'acknowledged'] as const;
export type OverviewMark = (typeof OVERVIEW_MARKS)[number];

export type OverviewSearch = {
  readonly workspaceId: number;
  readonly ids?: readonly number[] | undefined;
  readonly nameContains?: string | undefined;
  readonly type?: string | undefined;
  readonly state?: ShownState | undefined;
  /** The ids of the maintenance windows that are in progress. */
  readonly windowsUnderWay: readonly number[];
  /** Epoch ms on the slots' clock: a mute that ends later holds alerts. */
  readonly now: number;
  /** True: only monitors with the mark. False: only monitors without it. Absent: both. */
  readonly marks: Readonly<Partial<Record<OverviewMark, boolean | undefined>>>;
  readonly order: OverviewOrder;
  readonly limit: number;
  readonly offset: number;
};

export type OverviewRow = {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly active: number;
  readonly status: MonitorStatus;
  /** When the status began, epoch ms; null: the monitor has no verdict yet. */
  readonly since: number | null;
  /** 1 while a maintenance window of the monitor is in progress, else 0. */
  readonly maintenance: number;
};

const STATUS = sql<MonitorStatus>`coalesce(s.status, 'unknown')`;
const STATE = sql<ShownState>`CASE m.active WHEN 0 THEN 'paused' ELSE ${STATUS} END`;
const URGENCY = sql`CASE ${STATE} ${sql.join(
  SHOWN_STATES.map((state, rank) => sql`WHEN ${sql.lit(state)} THEN ${sql.lit(rank)}`),
  sql` `,
)} END`;
const BY_NAME = sql`lower(m.name)`;

const ORDERS: Readonly<Record<OverviewOrder, RawBuilder<unknown>>> = {
  state: sql`${URGENCY}, s.since DESC NULLS LAST, ${BY_NAME}, m.id`,
  name: sql`${BY_NAME}, m.id`,
  '-name': sql`${BY_NAME} DESC, m.id DESC`,
  since: sql`s.since NULLS FIRST, m.id`,
  '-since': sql`s.since DESC NULLS LAST, m.id DESC`,
  id: sql`m.id`,
};

/** A part of the list, see {@link monitorOverview}. */
export type Overview = {
  readonly rows: readonly OverviewRow[];
  /** Number of monitors in each state that match all filters except `state`. */
  readonly counts: Readonly<Record<ShownState, number>>;
  /** Number of monitors with each mark that match all filters except `state` and `marks`. */
  readonly marked: Readonly<Record<OverviewMark, number>>;
};

/** A part of the list of the workspace's monitors with their states. */
export async function monitorOverview(store: Store, search: OverviewSearch): Promise<Overview> {
  const [rows, counts, maintenance, muted, acknowledged] = await Promise.all([
    pageOf(store, search),
    countsOf(store, search),
    search.windowsUnderWay.length === 0 ? 0 : countMarked(store, search, 'maintenance'),
    countMarked(store, search, 'muted'),
    countMarked(store, search, 'acknowledged'),
  ]);
  return { rows, counts, marked: { maintenance, muted, acknowledged } };
}

/**
 * A part of the list. The query reads only columns of the index `monitors_overview` from `monitors`, because
 * a row is many times larger than its index entry.
 */
async function pageOf({ read }: Store, search: OverviewSearch): Promise<OverviewRow[]> {
  const { state, order, limit, offset } = search;
  const conditions = [...searched(search), ...(state === undefined ? [] : [sql`${STATE} = ${state}`])];
  const { rows } = await sql<OverviewRow>`
    SELECT m.id, m.type, m.name, m.active, ${STATUS} AS status, s.since,
      CASE WHEN ${hasMark('maintenance', search)} THEN 1 ELSE 0 END AS maintenance
    FROM monitors m LEFT JOIN monitor_states s ON s.monitor_id = m.id
    WHERE ${sql.join(conditions, sql` AND `)}
    ORDER BY ${ORDERS[order]} LIMIT ${limit} OFFSET ${offset}`.execute(read);
  return rows;
}

async function countsOf({ read }: Store, search: OverviewSearch): Promise<Record<ShownState, number>> {
  const count = (state: ShownState) =>
    sql`sum(CASE ${STATE} WHEN ${sql.lit(state)} THEN 1 ELSE 0 END) AS ${sql.ref(state)}`;
  const { rows } = await sql<Record<ShownState, number | null>>`
    SELECT ${sql.join(SHOWN_STATES.map(count))}
    FROM monitors m LEFT JOIN monitor_states s ON s.monitor_id = m.id
    WHERE ${sql.join(searched(search), sql` AND `)}`.execute(read);
  const [found] = rows;
  const of = (state: ShownState) => found?.[state] ?? 0;
  return {
    error: of('error'),
    degraded: of('degraded'),
    unknown: of('unknown'),
    active: of('active'),
    paused: of('paused'),
  };
}

async function countMarked({ read }: Store, search: OverviewSearch, mark: OverviewMark): Promise<number> {
  const conditions = [...filtered(search), hasMark(mark, search)];
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM monitors m WHERE ${sql.join(conditions, sql` AND `)}`.execute(read);
  return rows[0]?.count ?? 0;
}

function hasMark(mark: OverviewMark, { windowsUnderWay, now }: OverviewSearch): RawBuilder<unknown> {
  switch (mark) {
    case 'maintenance':
      if (windowsUnderWay.length === 0) return sql`1 = 0`;
      return sql`m.id IN (SELECT monitor_id FROM maintenance_monitors
        WHERE window_id IN (SELECT value FROM ${numbersAs(windowsUnderWay, 'ids')}))`;
    case 'muted':
      return sql`m.id IN (SELECT monitor_id FROM mutes WHERE muted_until > ${now})`;
    case 'acknowledged':
      return sql`m.id IN (SELECT monitor_id FROM incidents
        WHERE closed_at IS NULL AND acknowledged_at IS NOT NULL AND monitor_id IS NOT NULL)`;
    default:
      return mark satisfies never;
  }
}

/** The conditions of a search, without the condition on the state. */
function searched(search: OverviewSearch): RawBuilder<unknown>[] {
  const marks = OVERVIEW_MARKS.flatMap((mark) => {
    const wanted = search.marks[mark];
    const isMarked = hasMark(mark, search);
    return wanted === undefined ? [] : [wanted ? isMarked : sql`NOT (${isMarked})`];
  });
  return [...filtered(search), ...marks];
}

function filtered({ workspaceId, ids, nameContains, type }: OverviewSearch): RawBuilder<unknown>[] {
  return [
    sql`m.workspace_id = ${workspaceId}`,
    ...(ids === undefined ? [] : [sql`m.id IN (SELECT value FROM ${numbersAs(ids, 'wanted')})`]),
    ...(nameContains === undefined ? [] : [containsText(sql`m.name`, nameContains)]),
    ...(type === undefined ? [] : [sql`m.type = ${type}`]),
  ];
}
