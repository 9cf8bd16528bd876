import type { LongerInterval, NewInterval, NewTransition, Writes } from '../../verdict/writes.ts';
import type { SqlStep } from '../store.ts';
import { toTransitionVote } from './stored-votes.ts';

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
 * Corrects the dates of changes of these monitors that are later than the newest change: they were written
 * under a clock that was ahead.
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

/** An incident that began under a clock that was ahead gets the date of its end as its begin. */
export function closeIncidents(incidents: Writes['closedIncidents']): SqlStep {
  return {
    sql: `UPDATE incidents SET closed_at = ?, closure = ?,
        opened_at = CASE WHEN opened_at > ? THEN ? ELSE opened_at END
      WHERE key = ?`,
    rows: incidents.map(({ key, at, closure }) => [at, closure, at, at, key]),
  };
}
