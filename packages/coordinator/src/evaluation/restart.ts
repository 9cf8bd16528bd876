import { checkEnd } from '../domain/check-end.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { bitOf } from '../domain/region-set.ts';
import { BELIEVED_AHEAD_MS, freshForMs, type Vote, votableForMs } from '../domain/status.ts';
import { recast } from './casting.ts';
import type { Evaluation } from './evaluation.ts';
import { reopen, reopenEmpty } from './slot-life.ts';
import { type MonitorState, newState } from './state.ts';
import type { ReportedResult, StoredVote, WrittenState } from './writes.ts';

/** A recorded result that may be a vote, or a report of an undecided slot. */
export type StoredResult = Omit<Vote, 'expiresAt' | 'at'> & {
  /** When it was recorded, epoch ms on the slots' clock, if its slot was decided by then; otherwise null. */
  readonly decidedAt: number | null;
};

/** The members of a recorded result that are stored. */
type ResultRow = Pick<
  StoredResult,
  'region' | 'slot' | 'outcome' | 'endedAt' | 'latency' | 'statusCode' | 'errorMessage'
> & {
  /** When it was recorded, ms after its slot, if its slot was decided by then; otherwise null. */
  readonly decidedAfterMs: number | null;
};

/** A recorded result as a start reads it. */
export function storedResult(row: ResultRow): StoredResult {
  const { region, slot, outcome, decidedAfterMs, endedAt, latency, statusCode, errorMessage } = row;
  return {
    region,
    outcome,
    slot,
    decidedAt: decidedAfterMs === null ? null : slot + decidedAfterMs,
    endedAt,
    failedSince: outcome === 'failed' ? slot : null,
    upSlot: outcome === 'failed' ? 0 : slot,
    latency,
    statusCode,
    errorMessage,
  };
}

/** A reported result as a start would read it; null: it is none that may be a vote. */
export function reportAsStored({ result, region, decidedAfterMs }: ReportedResult): StoredResult | null {
  const { slot, outcome } = result;
  if (outcome === 'not_run') return null;
  return storedResult({
    region,
    slot,
    outcome,
    decidedAfterMs,
    endedAt: checkEnd(result, Number.POSITIVE_INFINITY),
    latency: result.latency ?? null,
    statusCode: result.status_code ?? null,
    errorMessage: result.error_message ?? null,
  });
}

/**
 * The first slot whose results a start reads: the decided one or an older open one. Results that neither count nor can
 * become votes are left out, by the end of the life before: a vote that has aged since says since when the status is
 * `unknown`.
 *
 * @param now    epoch ms on the slots' clock
 * @param newest newest recorded slot of all monitors, which the life before outlived, epoch ms
 */
export function readFrom(
  { decidedSlot, openSlots }: Pick<WrittenState, 'decidedSlot' | 'openSlots'>,
  { periodMs, longestCheckMs }: LiveMonitor,
  now: number,
  newest: number,
): number {
  const first = firstUndecided({ decidedSlot, openSlots });
  const believed = first > now + BELIEVED_AHEAD_MS ? 0 : first;
  return Math.max(
    believed,
    Math.min(now, newest) - freshForMs(periodMs, longestCheckMs) - votableForMs(periodMs, longestCheckMs),
  );
}

/** The decided slot, or an older one that is open. */
export function firstUndecided({
  decidedSlot,
  openSlots,
}: Pick<WrittenState, 'decidedSlot' | 'openSlots'>): number {
  return Math.min(decidedSlot, openSlots[0] ?? decidedSlot);
}

/** A state as it is stored. The missing members are empty after a start. */
export type StoredState = Pick<
  WrittenState,
  | 'id'
  | 'status'
  | 'since'
  | 'reason'
  | 'version'
  | 'decidedSlot'
  | 'floorSlot'
  | 'entered'
  | 'incident'
  | 'incidentSince'
  | 'intervals'
  | 'links'
  | 'votes'
  | 'openSlots'
  | 'writtenAt'
> & {
  /**
   * Results of the present version of the probed attributes, from `decidedSlot` or the first of `openSlots`
   * on, by ascending slot.
   */
  readonly results: readonly StoredResult[];
};

/**
 * Restores a monitor's state from its stored rows: it becomes what it was when the last batch was written.
 *
 * @param newestBelieved later slots and instants are of a clock that was ahead, epoch ms; default: a minute after
 *   the present
 */
export function restarted(
  evaluation: Evaluation,
  stored: StoredState,
  monitor: LiveMonitor | undefined,
  newestBelieved = evaluation.frame.instants.slotNow + BELIEVED_AHEAD_MS,
): void {
  const { results, votes, openSlots: _, writtenAt, ...rest } = stored;
  const { instants } = evaluation.frame;
  const state = evaluation.drafts.put({
    ...newState(stored.id, stored.since),
    ...rest,
    votes: [],
    open: [],
  });
  // A clock that was ahead wrote it. Its instants would hide what comes now from the next start.
  if (writtenAt > instants.slotNow) evaluation.frame.unwritten.add(state);
  if (state.decidedSlot > newestBelieved) state.decidedSlot = 0;
  if (state.floorSlot > newestBelieved) state.floorSlot = 0;
  const isStatusAhead = state.since > newestBelieved;
  if (isStatusAhead) {
    state.since = instants.slotNow;
    state.intervals = [];
  }
  beginBy(state, state.since);
  if (monitor === undefined) return;
  // Where the clock was set back, votes are no younger than when they were written: aged ones stay aged.
  const agedUntil = Math.max(instants.slotNow, writtenAt);
  state.votes = votes
    .filter(({ slot }) => slot <= newestBelieved)
    .map((vote) => withExpiry(evaluation, vote, monitor, agedUntil));
  if (!monitor.active || (state.version !== null && state.version !== monitor.version)) return;
  const believed = results.filter(
    ({ slot, decidedAt }) =>
      slot <= newestBelieved &&
      slot > state.floorSlot &&
      // It was recorded under a clock that was behind, and its slot was ahead then.
      (decidedAt === null || decidedAt >= slot - BELIEVED_AHEAD_MS),
  );
  takeUp(evaluation, state, monitor, believed, stored);
  const isBelieved = (slot: number) => slot <= newestBelieved && slot > state.floorSlot;
  reopenSilent(evaluation, state, monitor, believed, stored.openSlots.filter(isBelieved));
  // The votes that made the status are set aside. Older ones made another one: nothing is known until the next slot.
  if (isStatusAhead && votes.some(({ slot }) => slot > newestBelieved)) state.votes = [];
}

/**
 * An incident began no later than the status that it lasts with. Its row keeps the date of a clock that was ahead until it
 * ends (`closeIncidents`).
 *
 * @param latest epoch ms
 */
function beginBy(state: MonitorState, latest: number): void {
  const isLater = (since: number | null | undefined) => (since ?? 0) > latest;
  if (isLater(state.incidentSince)) state.incidentSince = latest;
  if (!state.links.some(({ incidentSince }) => isLater(incidentSince))) return;
  state.links = state.links.map((link) =>
    isLater(link.incidentSince) ? { ...link, incidentSince: latest } : link,
  );
}

/**
 * Casts the results since the state was written in the way in which they were cast. Results of undecided
 * slots are reports.
 */
function takeUp(
  evaluation: Evaluation,
  state: MonitorState,
  monitor: LiveMonitor,
  results: readonly StoredResult[],
  { openSlots, writtenAt }: Pick<StoredState, 'openSlots' | 'writtenAt'>,
): void {
  const writtenSlot = state.decidedSlot;
  const casts: { readonly at: number; readonly result: StoredResult }[] = [];
  for (const ofSlot of Map.groupBy(results, ({ slot }) => slot).values()) {
    const decidedAt = Math.min(...ofSlot.map((result) => result.decidedAt ?? Number.POSITIVE_INFINITY));
    for (const result of ofSlot) {
      const { slot, region } = result;
      // A region that is not the monitor's any more has no vote. Its report may be the one that decided the slot.
      const isOfMonitor = monitor.regions === null || monitor.regions.includes(region);
      if (decidedAt < Number.POSITIVE_INFINITY) {
        // A report from before the decision waited for it. That of a region which was removed meanwhile, and is declared
        // again, was no vote: the region has not entered.
        const wasVote = result.decidedAt !== null || (state.entered & bitOf(region)) !== 0;
        if (isOfMonitor && wasVote) casts.push({ at: result.decidedAt ?? decidedAt, result });
        state.decidedSlot = Math.max(state.decidedSlot, slot);
      } else if (isOfMonitor && (slot > writtenSlot || openSlots.includes(slot))) {
        const { slotNow } = evaluation.frame.instants;
        reopen(evaluation.frame, state, monitor, castAt(evaluation, result, monitor, slotNow));
      }
      // Otherwise its slot was decided without a result, so the state was written with its vote.
    }
  }
  for (const { at, result } of casts.sort((a, b) => a.at - b.at)) {
    // It is a vote of the written state, or that state dropped it.
    if (at < writtenAt) continue;
    const { slotNow } = evaluation.frame.instants;
    // A vote from a clock that was ahead counts for no longer than others.
    const castedAt = Math.min(at, slotNow);
    const vote = castAt(evaluation, result, monitor, castedAt);
    recast(evaluation.frame, state, monitor, [vote], slotNow - castedAt);
  }
}

/**
 * Opens slots that waited behind a decided one and that nobody has reported, as far as their period is not over. Their
 * reports would be late ones otherwise, each a vote by itself.
 */
function reopenSilent(
  evaluation: Evaluation,
  state: MonitorState,
  monitor: LiveMonitor,
  results: readonly StoredResult[],
  openSlots: readonly number[],
): void {
  const { frame } = evaluation;
  for (const slot of openSlots) {
    const isDecided = results.some((result) => result.slot === slot && result.decidedAt !== null);
    if (!isDecided && slot + monitor.periodMs > frame.instants.slotNow)
      reopenEmpty(frame, state, monitor, slot);
  }
}

/** The vote that the result became at an instant (epoch ms on the slots' clock). */
function castAt(
  evaluation: Evaluation,
  { decidedAt: _, ...result }: StoredResult,
  monitor: LiveMonitor,
  at: number,
): Vote {
  const { slotNow } = evaluation.frame.instants;
  return withExpiry(evaluation, { ...result, at, countsUntil: null }, monitor, slotNow);
}

/**
 * Restores a vote's expiry. A vote from a clock that was ahead counts for no longer than others.
 *
 * @param agedUntil the present, or a later instant up to which the vote has aged, epoch ms on the slots' clock
 */
function withExpiry(
  { frame: { now } }: Evaluation,
  stored: StoredVote,
  monitor: LiveMonitor,
  agedUntil: number,
): Vote {
  const freshMs = freshForMs(monitor.periodMs, monitor.longestCheckMs);
  const leftMs = (stored.countsUntil ?? stored.at + freshMs) - agedUntil;
  // Member by member: the vote lives as long as its monitor, and a copy of the rest takes half as much memory again.
  return {
    region: stored.region,
    outcome: stored.outcome,
    slot: stored.slot,
    at: stored.at,
    endedAt: stored.endedAt,
    failedSince: stored.failedSince,
    upSlot: stored.upSlot,
    expiresAt: now + Math.min(freshMs, leftMs),
    latency: stored.latency,
    statusCode: stored.statusCode,
    errorMessage: stored.errorMessage,
  };
}
