import type { OpenSlot } from './decision.ts';
import type { MonitorState } from './state.ts';
import { isFresh, type Vote } from './status.ts';

/**
 * Time by which a monitor with an open slot is looked at later for the ages of its votes, ms. Where a slot
 * was skipped or lost twice, votes age while the next check is under way: its reports, which mostly come at
 * once, take their places, and the status is not `unknown` for some milliseconds. Whoever removes an open
 * slot judges the votes.
 */
const UNDER_WAY_MS = 500;

/** A vote has aged when this much has passed since its expiry, ms (`isFresh`). */
const AGED_AFTER_MS = 1;

/** How much later than at their expiry the ages of the monitor's votes are looked at, ms. */
export function looksLaterMs({ open }: Readonly<MonitorState>): number {
  return open.length > 0 ? UNDER_WAY_MS : 0;
}

/**
 * When the monitor must be looked at although nothing arrives, monotonic ms: the deadline of its oldest open
 * slot, or the next expiry of a vote (which matters only while the status depends on votes). Null: never.
 *
 * @param now      votes that expired before it (see `Vote.expiresAt`) are not looked at again
 * @param jumpedMs how far the votes' clock is ahead of the monotonic one
 */
export function nextInstant(state: Readonly<MonitorState>, now: number, jumpedMs: number): number | null {
  const { open, votes } = state;
  let next = Number.POSITIVE_INFINITY;
  // By index: this runs for every state of every commit.
  for (let index = 0; index < open.length; index += 1) {
    const { deadline } = open[index] as OpenSlot;
    if (deadline < next) next = deadline;
  }
  const laterMs = looksLaterMs(state);
  for (let index = 0; state.status !== 'unknown' && index < votes.length; index += 1) {
    const agedAt = (votes[index] as Vote).expiresAt + laterMs + AGED_AFTER_MS;
    if (agedAt > now && agedAt - jumpedMs < next) next = agedAt - jumpedMs;
  }
  return next === Number.POSITIVE_INFINITY ? null : next;
}

/** Whether looking at the monitor now may change anything. `monotonic` and `jumpedMs` are ms. */
export function isDue(state: Readonly<MonitorState>, monotonic: number, jumpedMs: number): boolean {
  if (state.open.some((open) => open.deadline <= monotonic)) return true;
  const laterMs = looksLaterMs(state);
  return (
    state.status !== 'unknown' && state.votes.some((vote) => !isFresh(vote, monotonic + jumpedMs - laterMs))
  );
}
