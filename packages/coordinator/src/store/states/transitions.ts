import { type Selectable, sql } from 'kysely';
import type { MonitorStatus } from '../../verdict/monitor.ts';
import type { StatusSince } from '../../verdict/uptime.ts';
import type { LongerInterval, NewInterval, NewTransition, Writes } from '../../verdict/writes.ts';
import { jsonRows, numbersAs, triplesAs } from '../dialect.ts';
import type { TimeSpan } from '../results/result-series.ts';
import type { Database } from '../schema.ts';
import type { SqlStep, Store } from '../store.ts';
import { toTransitionVote } from './stored-votes.ts';

/** Number of spans per query. Such a query takes about 5 ms. */
const SPANS_PER_QUERY = 500;

/**
 * The statuses that each of these monitors had in the span, oldest first: the status at `from`, if any, and
 * each change after it and before `until`.
 *
 * Time in which a monitor is not active needs no extra handling: a deactivated monitor becomes `unknown` and
 * stays so until its first verdict after the activation.
 */
export async function statusHistories(
  { read }: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  { from, until }: TimeSpan,
): Promise<ReadonlyMap<number, readonly StatusSince[]>> {
  // One text per monitor costs the main thread less time than thousands of rows.
  const { rows } = await sql<{ id: number; before: MonitorStatus | null; changes: string }>`
    SELECT monitor.value AS id,
      (SELECT to_status FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status AND at <= ${from}
        ORDER BY at DESC, id DESC LIMIT 1) AS before,
      (SELECT ${jsonRows(['at', 'to_status'], ['at', 'id'])} FROM transitions
        WHERE monitor_id = monitor.value AND from_status <> to_status AND at > ${from} AND at < ${until}
      ) AS changes
    FROM ${numbersAs(monitorIds, 'monitor')}`.execute(read);
  return new Map(rows.map(({ id, before, changes }) => [id, historyOf(from, before, changes)]));
}

/** A span of time of one monitor. */
export type MonitorSpan = TimeSpan & { readonly monitorId: number };

/**
 * The statuses in each of these spans, in the form of {@link statusHistories} and in the order of the spans.
 */
export async function statusesIn(
  { read }: Pick<Store, 'read'>,
  spans: readonly MonitorSpan[],
): Promise<StatusSince[][]> {
  const found: StatusSince[][] = [];
  for (let start = 0; start < spans.length; start += SPANS_PER_QUERY) {
    const some = spans.slice(start, start + SPANS_PER_QUERY);
    const { rows } = await sql<{ before: MonitorStatus | null; changes: string }>`
      SELECT
        (SELECT to_status FROM transitions
          WHERE monitor_id = span.first AND from_status <> to_status AND at <= span.second
          ORDER BY at DESC, id DESC LIMIT 1) AS before,
        (SELECT ${jsonRows(['at', 'to_status'], ['at', 'id'])} FROM transitions
          WHERE monitor_id = span.first AND from_status <> to_status AND at > span.second AND at < span.third
        ) AS changes
      FROM ${triplesAs(
        some.map(({ monitorId, from, until }) => [monitorId, from, until]),
        'span',
      )}`.execute(read);
    for (const [index, { before, changes }] of rows.entries())
      found.push(historyOf(some[index]?.from ?? 0, before, changes));
  }
  return found;
}

/**
 * Returns the statuses from `from` on, oldest first.
 *
 * @param before status at `from`; null: there was no status
 * @param changes JSON of the later instants and statuses
 */
export function historyOf(from: number, before: MonitorStatus | null, changes: string): StatusSince[] {
  // The query made this text from columns of these types, so it is not parsed by a schema.
  const list = (JSON.parse(changes) as [number, MonitorStatus][]).map(([at, status]) => ({ at, status }));
  return before === null ? list : [{ at: from, status: before }, ...list];
}

export type TransitionRow = Selectable<Database['transitions']>;

/**
 * The newest transitions of a monitor, by descending id.
 *
 * @param search.beforeId only transitions with a smaller id; null: begin with the newest
 */
export function newestTransitions(
  store: Store,
  { monitorId, beforeId, limit }: { monitorId: number; beforeId: number | null; limit: number },
): Promise<TransitionRow[]> {
  let query = store.read.selectFrom('transitions').selectAll().where('monitor_id', '=', monitorId);
  if (beforeId !== null) query = query.where('id', '<', beforeId);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

const INSERT = `
  INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, slot, votes, incident, until, slots)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function insertTransitions(transitions: readonly NewTransition[]): SqlStep {
  return {
    sql: INSERT,
    rows: transitions.map((row) => [
      row.monitorId,
      row.from,
      row.to,
      row.reason,
      row.at,
      row.slot,
      JSON.stringify(row.votes.map(toTransitionVote)),
      row.incident,
      null,
      null,
    ]),
  };
}

/**
 * Corrects earlier changes of these monitors that were written while the clock was ahead. A change with a
 * later date than the monitor's new change gets the date of the new change.
 */
export function redateTransitions(transitions: readonly NewTransition[]): SqlStep {
  return {
    sql: `UPDATE transitions SET at = ?
      WHERE monitor_id = ? AND at > ? AND from_status <> to_status`,
    rows: transitions.map(({ monitorId, at }) => [at, monitorId, at]),
  };
}

export function insertIntervals(intervals: readonly NewInterval[]): SqlStep {
  return {
    sql: INSERT,
    rows: intervals.map((row) => [
      row.monitorId,
      row.status,
      row.status,
      row.reason,
      row.at,
      row.slot,
      JSON.stringify(row.votes.map(toTransitionVote)),
      row.incident,
      row.at,
      1,
    ]),
  };
}

export function lengthenIntervals(intervals: readonly LongerInterval[]): SqlStep {
  return {
    sql: `UPDATE transitions SET until = ?, slots = ?
      WHERE monitor_id = ? AND at = ? AND reason = ? AND from_status = to_status`,
    rows: intervals.map(({ until, slots, monitorId, at, reason }) => [until, slots, monitorId, at, reason]),
  };
}

export function openIncidents(incidents: Writes['openedIncidents']): SqlStep {
  return {
    sql: `INSERT INTO incidents (key, monitor_id, opened_at, workspace_id)
      VALUES (?, ?, ?, (SELECT workspace_id FROM monitors WHERE id = ?))`,
    rows: incidents.map(({ key, monitorId, at }) => [key, monitorId, at, monitorId]),
  };
}

/**
 * Closes incidents. If an incident was opened while the clock was ahead, and so
 * begins after its end, its beginning is set to its end.
 */
export function closeIncidents(incidents: Writes['closedIncidents']): SqlStep {
  return {
    sql: `UPDATE incidents SET closed_at = ?, closure = ?,
        opened_at = CASE WHEN opened_at > ? THEN ? ELSE opened_at END
      WHERE key = ?`,
    rows: incidents.map(({ key, at, closure }) => [at, closure, at, at, key]),
  };
}
