import { setImmediate } from 'node:timers/promises';
import type { Region } from '@svc/shared/regions.ts';
import { isRegion } from '@svc/shared/regions.ts';
import { candidateSlots, type SlotRange } from '../domain/candidate-slots.ts';
import { castVotes, type OpenSlot } from '../domain/decision.ts';
import type { LiveMonitor, MonitorStatus } from '../domain/monitor.ts';
import { ALL_REGIONS, bitOf, NO_REGIONS, regionSet, regionsOf } from '../domain/region-set.ts';
import { electorateOf, freshForMs, type Vote, type VoteOutcome, votableForMs } from '../domain/status.ts';
import type { TransitionReason } from '../domain/transition.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { EvaluatorParts } from './evaluator.ts';
import { type MonitorState, newState } from './states.ts';
import { type StoredVote, storedVotes } from './stored-votes.ts';

/** Slots further ahead than this were recorded under a wrong clock: they would hide the ones to come, ms. */
const BELIEVED_AHEAD_MS = 60_000;

/** Monitors read per turn of the event loop. */
const CHUNK = 200;

type StateRow = {
  id: number;
  status: MonitorStatus;
  since: number;
  decidedSlot: number;
  votes: string;
  incident: string | null;
  reason: TransitionReason | null;
};

type ResultRow = {
  slot: number;
  region: string;
  outcome: VoteOutcome;
  version: number;
  recordedAt: number;
  latency: number | null;
  statusCode: number | null;
  errorMessage: string | null;
};

/**
 * Reads the states of all monitors: what is stored of them, and the results since. Of these, the newest
 * slot's are put together as an undecided slot, unless it is complete; the earlier ones' are votes (their
 * verdicts changed nothing, or the state would have been written). What came after the decision of the
 * stored slot waits for the next one.
 */
export async function loadStates(store: Store, parts: EvaluatorParts): Promise<void> {
  // In a transaction: nothing may change between the chunks.
  await store.transaction(async (tx) => {
    const load = prepareLoad(tx, parts);
    for (let after = 0; ; ) {
      const rows = load.states(after);
      for (const row of rows) load.one(row);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.id;
      await setImmediate();
    }
  });
}

function prepareLoad({ sqlite }: Transaction, parts: EvaluatorParts) {
  const states = sqlite.prepare(`
    SELECT monitor_id AS id, status, since, decided_slot AS decidedSlot, votes, incident,
      (SELECT reason FROM transitions WHERE monitor_id = monitor_states.monitor_id ORDER BY id DESC LIMIT 1)
        AS reason
    FROM monitor_states WHERE monitor_id > ? ORDER BY monitor_id LIMIT ${CHUNK}`);
  const results = prepareResults(sqlite, parts);
  const slotNow = parts.slotClock.now();
  const monotonic = parts.clock.monotonic();
  const now = monotonic + parts.slotClock.jumpedMs;
  const newestBelieved = slotNow + BELIEVED_AHEAD_MS;
  const newest = sqlite.prepare('SELECT max(slot) AS slot FROM results WHERE slot <= ?').get(newestBelieved);
  const until = Number(newest?.slot ?? 0);

  return {
    states: (after: number) => states.all(after) as StateRow[],
    one(row: StateRow): void {
      const monitor = parts.monitors.get(row.id);
      const state = newState(row.id, row.since);
      state.status = row.status;
      state.reason = row.reason ?? 'too-few-votes';
      state.decidedSlot = row.decidedSlot > newestBelieved ? 0 : row.decidedSlot;
      state.incident = row.incident;
      if (monitor !== undefined) {
        const freshMs = freshForMs(monitor.periodMs, monitor.longestCheckMs);
        const votes = storedVotes.parse(JSON.parse(row.votes)).filter((vote) => vote.slot <= newestBelieved);
        // Of a clock that was ahead a vote counts for no longer.
        state.votes = votes.map((vote) => toVote(vote, now - Math.max(0, slotNow - vote.at) + freshMs));
        if (monitor.active) {
          // What is older neither counts nor may become a vote.
          const oldest = slotNow - freshMs - votableForMs(monitor.periodMs, monitor.longestCheckMs);
          const from = Math.max(state.decidedSlot, Math.floor(oldest));
          const found = results(monitor, { from, until });
          addResults(state, monitor, found, { now, monotonic, slotNow });
        }
      }
      parts.states.set(state);
    },
  };
}

/**
 * Reads the results of a monitor from a time that matter: of each region the newest before the newest
 * slot, and that slot's. Oldest first.
 *
 * They lie on the grid of the period declared now or are remembered as off it: a change of the period is
 * written with all that is undecided then.
 */
function prepareResults(sqlite: Transaction['sqlite'], { presence }: EvaluatorParts) {
  const offGrid = sqlite.prepare(`
    SELECT slot FROM off_grid_slots WHERE monitor_id = ? AND slot >= ? AND slot <= ? ORDER BY slot DESC`);
  const ofSlot = sqlite.prepare(`
    SELECT slot, region, outcome, version, recorded_at AS recordedAt, latency, status_code AS statusCode, error_message AS errorMessage
    FROM results WHERE slot = ? AND monitor_id = ? AND outcome <> 'not_run' ORDER BY region`);
  const electable = regionSet(regionsOf(ALL_REGIONS).filter((region) => presence.hadAgentWithin24h(region)));

  return (monitor: LiveMonitor, range: SlotRange): ResultRow[] => {
    const { id, periodMs, regions } = monitor;
    const remembered = (offGrid.all(id, range.from, range.until) as { slot: number }[]).map(
      ({ slot }) => slot,
    );
    let missing = electorateOf(regions === null ? null : regionSet(regions), electable);
    const found: ResultRow[][] = [];
    for (const slot of candidateSlots(id, periodMs, range, remembered)) {
      const rows = (ofSlot.all(slot, id) as ResultRow[]).filter((row) => isUsable(row, monitor));
      if (rows.length === 0) continue;
      found.push(rows);
      if (found.length === 1 && newestUndecided(rows, monitor) === slot) continue;
      for (const { region } of rows) if (isRegion(region)) missing &= ~bitOf(region);
      if (missing === NO_REGIONS) break;
    }
    return found.toReversed().flat();
  };
}

function addResults(
  state: MonitorState,
  monitor: LiveMonitor,
  results: readonly ResultRow[],
  { now, monotonic, slotNow }: { now: number; monotonic: number; slotNow: number },
): void {
  // When votes ended with a change of the declaration, results of that slot do not come back.
  const hasVotesOfDecided = state.votes.some((vote) => vote.slot === state.decidedSlot);
  const freshMs = freshForMs(monitor.periodMs, monitor.longestCheckMs);
  const storedSlot = state.decidedSlot;
  const newest = newestUndecided(results, monitor);
  for (const row of results) {
    if (!isRegion(row.region)) continue;
    // Recorded by the wall clock, which may have been set back since; never before its slot.
    const at = Math.min(Math.max(row.recordedAt, row.slot), slotNow);
    const vote: Vote = { ...factsOf(row, row.region), at, expiresAt: now - (slotNow - at) + freshMs };
    if (row.slot === storedSlot && !hasVotesOfDecided) continue;
    if (row.slot < newest) {
      state.votes = castVotes(state.votes, [vote]);
      state.decidedSlot = row.slot;
    } else if (row.slot > storedSlot) {
      report(state, monitor, vote, monotonic, slotNow);
    } else if (isNews(state, vote)) {
      state.stragglers = castVotes(state.stragglers, [vote]);
    }
  }
}

/**
 * The newest slot with results, unless every declared region has reported it: the last report decided it
 * in the transaction that recorded it.
 */
function newestUndecided(results: readonly ResultRow[], { regions }: LiveMonitor): number {
  const newest = results.at(-1)?.slot ?? 0;
  const reports = results.filter((row) => row.slot === newest).length;
  return regions !== null && reports === regions.length ? newest + 1 : newest;
}

function isUsable(row: ResultRow, monitor: LiveMonitor): boolean {
  if (row.version !== monitor.version || !isRegion(row.region)) return false;
  return monitor.regions === null || monitor.regions.includes(row.region);
}

function report(
  state: MonitorState,
  monitor: LiveMonitor,
  vote: Vote,
  monotonic: number,
  slotNow: number,
): void {
  let open: OpenSlot | undefined = state.open.at(-1);
  if (open?.slot !== vote.slot) {
    const deadline = monotonic + Math.min(monitor.periodMs, vote.slot + monitor.periodMs - slotNow);
    open = { slot: vote.slot, given: 0, answered: 0, isGivenKnown: false, deadline, reports: [] };
    state.open.push(open);
  }
  open.given |= bitOf(vote.region);
  open.answered |= bitOf(vote.region);
  open.reports = [...open.reports, vote];
}

function isNews(state: MonitorState, vote: Vote): boolean {
  const current = state.votes.find((old) => old.region === vote.region);
  return current === undefined || current.slot < vote.slot;
}

function factsOf(row: ResultRow, region: Region) {
  const { outcome, slot, latency, statusCode, errorMessage } = row;
  return { region, outcome, slot, latency, statusCode, errorMessage };
}

function toVote(stored: StoredVote, expiresAt: number): Vote {
  return {
    region: stored.region,
    outcome: stored.outcome,
    slot: stored.slot,
    at: stored.at,
    expiresAt,
    latency: stored.latency,
    statusCode: stored.status_code,
    errorMessage: stored.error_message,
  };
}
