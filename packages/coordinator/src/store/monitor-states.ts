import { appendTo } from '@svc/shared/lists-by-key.ts';
import { isRegion } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import { z } from 'zod';
import { candidateSlots } from '../domain/candidate-slots.ts';
import { checkEnd } from '../domain/check-end.ts';
import type { LiveMonitor, MonitorStatus } from '../domain/monitor.ts';
import { BELIEVED_AHEAD_MS, type VoteOutcome } from '../domain/status.ts';
import type { Announced, TransitionReason } from '../domain/transition.ts';
import { readFrom, type StoredResult, type StoredState, storedResult } from '../evaluation/restart.ts';
import type { Link, ReasonInterval } from '../evaluation/state.ts';
import { SAME_INTERVAL_MS } from '../evaluation/status-change.ts';
import type { Writes, WrittenState } from '../evaluation/writes.ts';
import { type ClockSetBack, isSetAside } from './clock-set-backs.ts';
import { pairsAs } from './dialect.ts';
import { readAhead } from './read-ahead.ts';
import { readResultDetail } from './result-detail.ts';
import type { SqlStep, Store } from './store.ts';
import { readVotes, votesText } from './stored-votes.ts';

/** States read at a time. */
const CHUNK = 500;

/** Writes nothing for a monitor whose row is gone: its removal is applied afterwards. */
const UPSERT = `
  INSERT INTO monitor_states (monitor_id, status, since, reason, version, decided_slot, floor_slot, entered,
    votes, incident, open_slots, written_at)
  SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM monitors WHERE id = ?
  ON CONFLICT (monitor_id) DO UPDATE SET status = excluded.status, since = excluded.since,
    reason = excluded.reason, version = excluded.version, decided_slot = excluded.decided_slot,
    floor_slot = excluded.floor_slot, entered = excluded.entered, votes = excluded.votes,
    incident = excluded.incident, open_slots = excluded.open_slots,
    written_at = excluded.written_at`;

export function writeStates(states: readonly WrittenState[]): SqlStep {
  return {
    sql: UPSERT,
    rows: states.map((state) => [
      state.status,
      state.since,
      state.reason,
      state.version,
      state.decidedSlot,
      state.floorSlot,
      state.entered,
      votesText(state.votes),
      state.incident,
      openSlotsText(state.openSlots),
      state.writtenAt,
      state.id,
    ]),
  };
}

export function writeAnnouncements(announcements: Writes['announcements']): SqlStep {
  return {
    sql: `UPDATE links SET announced = ?, incident = ? WHERE monitor_id = ? AND notification_id = ?
      AND EXISTS (SELECT 1 FROM notifications WHERE id = ? AND provider_type = ?)`,
    rows: announcements.map(({ announced, incident, monitorId, notificationId, providerType }) => [
      announced,
      incident,
      monitorId,
      notificationId,
      notificationId,
      providerType,
    ]),
  };
}

type StateRow = {
  monitor_id: number;
  status: MonitorStatus;
  since: number;
  reason: TransitionReason | null;
  version: number | null;
  decided_slot: number;
  floor_slot: number;
  entered: number;
  votes: string;
  incident: string | null;
  open_slots: string | null;
  written_at: number;
  opened_at: number | null;
};

/** Slots in `monitor_states.open_slots`, oldest first. */
const openSlots = z.array(z.number().int());

function openSlotsText(slots: readonly number[]): string | null {
  return slots.length === 0 ? null : JSON.stringify(slots);
}

function readOpenSlots({ open_slots: text }: StateRow): number[] {
  return text === null ? [] : openSlots.parse(JSON.parse(text));
}

type Monitors = { get(id: number): LiveMonitor | undefined };

/** What is asked of results at a start. */
type AtStart = {
  /** The slots' clock, epoch ms. */
  readonly now: number;
  /** Results of slots that these have set aside are left out. */
  readonly setBacks: readonly ClockSetBack[];
};

/**
 * Yields the states of all monitors with the results recorded since the states were written, some hundred at
 * a time.
 */
export async function* storedStates(
  store: Store,
  monitors: Monitors,
  { now, setBacks }: AtStart,
): AsyncGenerator<readonly StoredState[]> {
  const until = await newestSlot(store, now + BELIEVED_AHEAD_MS);
  yield* readAhead(
    (after) => statesAfter(store, after, monitors, { now, setBacks, until }),
    ({ id }) => id,
  );
}

type ResultsAsked = AtStart & { readonly until: number };

async function statesAfter(
  store: Store,
  after: number,
  monitors: Monitors,
  instants: ResultsAsked,
): Promise<StoredState[]> {
  const rows: StateRow[] = await store.read
    .selectFrom('monitor_states')
    .leftJoin('incidents', 'incidents.key', 'monitor_states.incident')
    .selectAll('monitor_states')
    .select('incidents.opened_at')
    .$narrowType<{ reason: TransitionReason | null }>()
    .where('monitor_states.monitor_id', '>', after)
    .orderBy('monitor_states.monitor_id')
    .limit(CHUNK)
    .execute();
  const last = rows.at(-1)?.monitor_id;
  if (last === undefined) return [];
  const [links, intervals, results] = await Promise.all([
    linksBetween(store, after, last),
    intervalsBetween(store, after, last, instants.now),
    resultsSince(store, rows, monitors, instants),
  ]);
  return rows.map((row) => ({
    ...stateOf(row),
    links: links.get(row.monitor_id) ?? [],
    intervals: intervals.get(row.monitor_id) ?? [],
    results: results.get(row.monitor_id) ?? [],
  }));
}

function stateOf(row: StateRow): Omit<StoredState, 'links' | 'intervals' | 'results'> {
  return {
    id: row.monitor_id,
    status: row.status,
    since: row.since,
    reason: row.reason ?? 'too-few-votes',
    version: row.version,
    decidedSlot: row.decided_slot,
    floorSlot: row.floor_slot,
    entered: row.entered,
    incident: row.incident,
    incidentSince: row.opened_at,
    votes: readVotes(row.votes),
    openSlots: readOpenSlots(row),
    writtenAt: row.written_at,
  };
}

async function newestSlot(store: Store, believedUntil: number): Promise<number> {
  const { slot } = await store.read
    .selectFrom('results')
    .select(({ fn }) => fn.max<number | null>('slot').as('slot'))
    .where('slot', '<=', believedUntil)
    .executeTakeFirstOrThrow();
  return slot ?? 0;
}

async function linksBetween(store: Store, after: number, until: number): Promise<Map<number, Link[]>> {
  const rows = await store.read
    .selectFrom('links')
    .innerJoin('notifications', 'notifications.id', 'links.notification_id')
    .leftJoin('incidents', 'incidents.key', 'links.incident')
    .select([
      'links.monitor_id as monitorId',
      'links.notification_id as notificationId',
      'notifications.provider_type as providerType',
      'links.announced as announced',
      'links.incident as incident',
      'incidents.opened_at as incidentSince',
    ])
    .where('links.monitor_id', '>', after)
    .where('links.monitor_id', '<=', until)
    .orderBy('links.monitor_id')
    .orderBy('links.notification_id')
    .execute();
  const links = new Map<number, Link[]>();
  for (const { monitorId, announced, ...link } of rows) {
    appendTo(links, monitorId, { ...link, announced: announced satisfies Announced });
  }
  return links;
}

/**
 * The intervals that may be continued: the newest of each reason that belongs to the present status and is
 * the present reason or recent.
 */
async function intervalsBetween(
  store: Store,
  after: number,
  until: number,
  now: number,
): Promise<Map<number, ReasonInterval[]>> {
  const rows = await store.read
    .selectFrom('transitions as t')
    .innerJoin('monitor_states as s', 's.monitor_id', 't.monitor_id')
    .select(['t.monitor_id as monitorId', 't.reason', 't.at', 't.until', 't.slots'])
    .$narrowType<{ reason: TransitionReason }>()
    .where('t.monitor_id', '>', after)
    .where('t.monitor_id', '<=', until)
    .whereRef('t.from_status', '=', 't.to_status')
    .whereRef('t.at', '>=', 's.since')
    .where(({ eb, or, ref }) =>
      or([eb('t.reason', '=', ref('s.reason')), eb('t.until', '>=', now - SAME_INTERVAL_MS)]),
    )
    .orderBy('t.monitor_id')
    .orderBy('t.at')
    .execute();
  const intervals = new Map<number, ReasonInterval[]>();
  for (const { monitorId, reason, at, until: last, slots } of rows) {
    const older = (intervals.get(monitorId) ?? []).filter((interval) => interval.reason !== reason);
    const newest = { reason, at, until: last ?? at, slots: slots ?? 1, isUnwritten: false };
    intervals.set(monitorId, [...older, newest]);
  }
  return intervals;
}

type ResultRow = {
  slot: number;
  monitor_id: number;
  region: string;
  outcome: VoteOutcome;
  version: number;
  decided_after: number | null;
  set_backs: number;
  latency: number | null;
  status_code: number | null;
  error_message: string | null;
  detail: string | null;
};

/** Results that may matter, from the decided slot (or an older open one) on, by monitor and ascending slot. */
async function resultsSince(
  store: Store,
  states: readonly StateRow[],
  monitors: Monitors,
  { now, setBacks, until }: ResultsAsked,
): Promise<Map<number, StoredResult[]>> {
  const offGrid = await offGridSlots(store, states);
  const asked: [slot: number, monitorId: number][] = [];
  for (const state of states) {
    const id = state.monitor_id;
    const monitor = monitors.get(id);
    if (monitor === undefined || !monitor.active) continue;
    const written = { decidedSlot: state.decided_slot, openSlots: readOpenSlots(state) };
    const range = { from: Math.floor(readFrom(written, monitor, now, until)), until };
    for (const slot of candidateSlots(id, monitor.periodMs, range, offGrid.get(id) ?? []))
      asked.push([slot, id]);
  }
  const { rows } = await sql<ResultRow>`
    SELECT results.slot, results.monitor_id, region, outcome, version, decided_after, set_backs, latency,
      status_code, error_message, detail
    FROM ${pairsAs(asked, 'asked')} CROSS JOIN results
    WHERE results.slot = asked.first AND results.monitor_id = asked.second AND outcome <> 'not_run'
    ORDER BY results.slot, region`.execute(store.read);
  const found = new Map<number, StoredResult[]>();
  for (const row of rows) {
    if (row.version !== monitors.get(row.monitor_id)?.version) continue;
    const result = isSetAside(setBacks, row.slot, row.set_backs) ? null : resultOf(row, now);
    if (result !== null) appendTo(found, row.monitor_id, result);
  }
  return found;
}

/** Newest first, by monitor. */
async function offGridSlots(store: Store, states: readonly StateRow[]): Promise<Map<number, number[]>> {
  const rows = await store.read
    .selectFrom('off_grid_slots')
    .select(['monitor_id', 'slot'])
    .where('monitor_id', '>=', states[0]?.monitor_id ?? 0)
    .where('monitor_id', '<=', states.at(-1)?.monitor_id ?? 0)
    .orderBy('monitor_id')
    .orderBy('slot', 'desc')
    .execute();
  const slots = new Map<number, number[]>();
  for (const { monitor_id: id, slot } of rows) appendTo(slots, id, slot);
  return slots;
}

function resultOf(row: ResultRow, now: number): StoredResult | null {
  const { region, slot, outcome, decided_after: decidedAfterMs, latency } = row;
  if (!isRegion(region)) return null;
  const { attempts } = readResultDetail(row.detail, row);
  return storedResult({
    region,
    slot,
    outcome,
    decidedAfterMs,
    endedAt: checkEnd({ slot, attempts, latency: latency ?? undefined }, now),
    latency,
    statusCode: row.status_code,
    errorMessage: row.error_message,
  });
}
