import { appendTo } from '@svc/shared/collections.ts';
import { sql } from 'kysely';
import type { MonitorStatus } from '../../verdict/monitor.ts';
import { NO_REGIONS, regionSet, regionsOf } from '../../verdict/region-set.ts';
import type { StoredState } from '../../verdict/restart.ts';
import { FINEST_PERIOD_MS, phaseOf } from '../../verdict/schedule.ts';
import { ONLY_SHARD, type Shard } from '../../verdict/shard.ts';
import type { Link, ReasonInterval } from '../../verdict/state.ts';
import { SAME_INTERVAL_MS } from '../../verdict/status-change.ts';
import type { Announced, TransitionReason } from '../../verdict/transition.ts';
import type { Writes, WrittenState, WrittenVotes } from '../../verdict/writes.ts';
import { pairsAs } from '../dialect.ts';
import { inShard, readAhead } from '../queries.ts';
import type { SqlStep, Store } from '../store.ts';
import {
  openSlotsText,
  readOpenSlots,
  readVerdicts,
  readVotes,
  verdictsText,
  votesText,
} from './stored-votes.ts';

/** Maximum number of states per query. */
const CHUNK = 1_000;

/**
 * The statement that writes a state. It writes nothing if the monitor was removed.
 * A later batch of the recorder applies the removal.
 */
const UPSERT = `
  INSERT INTO monitor_states
    (monitor_id, status, status_slot, since, reason, version, floor_slot, entered, incident)
  SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM monitors WHERE id = ?
  ON CONFLICT (monitor_id) DO UPDATE SET status = excluded.status, status_slot = excluded.status_slot,
    since = excluded.since, reason = excluded.reason, version = excluded.version, floor_slot = excluded.floor_slot,
    entered = excluded.entered, incident = excluded.incident`;

export function writeStates(states: readonly WrittenState[]): SqlStep {
  return {
    sql: UPSERT,
    rows: states.map((state) => [
      state.status,
      state.statusSlot,
      state.since,
      state.reason,
      state.version,
      state.floorSlot,
      regionsOf(state.entered).join(),
      state.incident,
      state.id,
    ]),
  };
}

/**
 * The place of a monitor in the half minute, ms. Monitors with the same place are due together. The key of
 * `monitor_votes` begins with the place, so that rows that are written together lie on few pages.
 */
function placeOf(id: number): number {
  return phaseOf(id, FINEST_PERIOD_MS);
}

export function writeVotes(votes: Writes['votes']): SqlStep {
  return {
    sql: `
  INSERT INTO monitor_votes (place, monitor_id, decided_slot, written_at, votes, open_slots, verdicts)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (place, monitor_id) DO UPDATE SET decided_slot = excluded.decided_slot,
    written_at = excluded.written_at, votes = excluded.votes, open_slots = excluded.open_slots,
    verdicts = excluded.verdicts`,
    rows: votes.map(({ id, decidedSlot, writtenAt, votes, open, verdicts }) => [
      placeOf(id),
      id,
      decidedSlot,
      writtenAt,
      votesText(votes, decidedSlot),
      openSlotsText(open),
      verdictsText(verdicts, decidedSlot),
    ]),
  };
}

export function removeVotes(ids: readonly number[]): SqlStep {
  return {
    sql: 'DELETE FROM monitor_votes WHERE place = ? AND monitor_id = ?',
    rows: ids.map((id) => [placeOf(id), id]),
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
  status_slot: number;
  since: number;
  reason: TransitionReason | null;
  version: number | null;
  floor_slot: number;
  entered: string;
  incident: string | null;
  opened_at: number | null;
};

/**
 * Yields the stored states of the shard's monitors by ascending id, in chunks
 * of at most {@link CHUNK}. `now` is on the slots' clock, epoch ms.
 */
export async function* storedStates(
  store: Store,
  now: number,
  shard: Shard = ONLY_SHARD,
): AsyncGenerator<readonly StoredState[]> {
  const pages = readAhead(
    (after) => rowsAfter(store, after, shard),
    (row) => row.monitor_id,
  );
  // The next rows are read while the rest of these states is read.
  for await (const rows of pages) yield await statesOf(store, rows, now, shard);
}

function rowsAfter(store: Store, after: number, shard: Shard): Promise<StateRow[]> {
  return store.read
    .selectFrom('monitor_states')
    .leftJoin('incidents', 'incidents.key', 'monitor_states.incident')
    .select([
      'monitor_states.monitor_id',
      'monitor_states.status',
      'monitor_states.status_slot',
      'monitor_states.since',
      'monitor_states.reason',
      'monitor_states.version',
      'monitor_states.floor_slot',
      'monitor_states.entered',
      'monitor_states.incident',
      'incidents.opened_at',
    ])
    .$narrowType<{ reason: TransitionReason | null }>()
    .where('monitor_states.monitor_id', '>', after)
    .where(inShard('monitor_states.monitor_id', shard))
    .orderBy('monitor_states.monitor_id')
    .limit(CHUNK)
    .execute();
}

/** @param rows ascending by id, at least one */
async function statesOf(
  store: Store,
  rows: readonly StateRow[],
  now: number,
  shard: Shard,
): Promise<StoredState[]> {
  const ids = rows.map((row) => row.monitor_id);
  const [first, last] = [ids[0] as number, ids.at(-1) as number];
  const [votes, links, intervals] = await Promise.all([
    votesOf(store, ids),
    linksBetween(store, first, last, shard),
    intervalsBetween(store, first, last, now, shard),
  ]);
  return rows.map((row) => stateOf(row, votes.get(row.monitor_id), links, intervals));
}

const NONE: readonly never[] = [];

/** Each member is named, because copies by spreading take most of the time of reading many states. */
function stateOf(
  row: StateRow,
  votes: VotesRow | undefined,
  links: ReadonlyMap<number, readonly Link[]>,
  intervals: ReadonlyMap<number, readonly ReasonInterval[]>,
): StoredState {
  const decidedSlot = votes?.decided_slot ?? 0;
  return {
    id: row.monitor_id,
    status: row.status,
    statusSlot: row.status_slot,
    since: row.since,
    reason: row.reason ?? 'too-few-votes',
    version: row.version,
    floorSlot: row.floor_slot,
    entered: row.entered === '' ? NO_REGIONS : regionSet(row.entered.split(',')),
    incident: row.incident,
    incidentSince: row.opened_at,
    decidedSlot,
    writtenAt: votes?.written_at ?? 0,
    votes: votes === undefined ? NONE : readVotes(votes.votes, decidedSlot),
    open: readOpenSlots(votes?.open_slots ?? null),
    verdicts: readVerdicts(votes?.verdicts ?? null, decidedSlot),
    links: links.get(row.monitor_id) ?? NONE,
    intervals: intervals.get(row.monitor_id) ?? NONE,
  };
}

type VotesRow = {
  monitor_id: number;
  decided_slot: number;
  written_at: number;
  votes: string;
  open_slots: string | null;
  verdicts: string | null;
};

async function votesOf(store: Store, ids: readonly number[]): Promise<ReadonlyMap<number, VotesRow>> {
  const asked = ids.map((id) => [placeOf(id), id] as const);
  const { rows } = await sql<VotesRow>`
    SELECT monitor_id, decided_slot, written_at, votes, open_slots, verdicts
    FROM ${pairsAs(asked, 'asked')} CROSS JOIN monitor_votes
    WHERE monitor_votes.place = asked.first AND monitor_votes.monitor_id = asked.second`.execute(store.read);
  return new Map(rows.map((row) => [row.monitor_id, row]));
}

/** The stored statuses of these monitors, and their stored votes. A monitor without a stored state is missing. */
export async function storedVerdicts(
  store: Store,
  ids: readonly number[],
): Promise<ReadonlyMap<number, { readonly status: MonitorStatus } & Pick<WrittenVotes, 'votes'>>> {
  const [states, votes] = await Promise.all([
    store.read
      .selectFrom('monitor_states')
      .select(['monitor_id', 'status'])
      .where('monitor_id', 'in', ids)
      .execute(),
    votesOf(store, ids),
  ]);
  return new Map(
    states.map(({ monitor_id: id, status }) => {
      const row = votes.get(id);
      return [id, { status, votes: row === undefined ? NONE : readVotes(row.votes, row.decided_slot) }];
    }),
  );
}

async function linksBetween(
  store: Store,
  from: number,
  to: number,
  shard: Shard,
): Promise<Map<number, Link[]>> {
  const rows = await store.read
    .selectFrom('links')
    .innerJoin('notifications', 'notifications.id', 'links.notification_id')
    .leftJoin('incidents', 'incidents.key', 'links.incident')
    .select([
      'links.monitor_id as monitorId',
      'links.notification_id as notificationId',
      'notifications.provider_type as providerType',
      'links.version as version',
      'links.announced as announced',
      'links.incident as incident',
      'incidents.opened_at as incidentSince',
    ])
    .where('links.monitor_id', '>=', from)
    .where('links.monitor_id', '<=', to)
    .where(inShard('links.monitor_id', shard))
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
 * The intervals that may still be extended, at most one for each reason of the present status: the
 * newest interval of the reason, if the status has this reason now or if the interval ended recently.
 */
async function intervalsBetween(
  store: Store,
  from: number,
  to: number,
  now: number,
  shard: Shard,
): Promise<Map<number, ReasonInterval[]>> {
  const rows = await store.read
    .selectFrom('transitions as t')
    .innerJoin('monitor_states as s', 's.monitor_id', 't.monitor_id')
    .select(['t.monitor_id as monitorId', 't.reason', 't.at', 't.until', 't.slots'])
    .$narrowType<{ reason: TransitionReason }>()
    .where('t.monitor_id', '>=', from)
    .where('t.monitor_id', '<=', to)
    .where(inShard('t.monitor_id', shard))
    .whereRef('t.from_status', '=', 't.to_status')
    .whereRef('t.to_status', '=', 's.status')
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
