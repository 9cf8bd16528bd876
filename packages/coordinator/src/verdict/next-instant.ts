import type { OpenSlot } from './decision.ts';
import type { MonitorState } from './state.ts';
import { isFresh, type Vote } from './status.ts';

/**
 * Delay of the check for expired votes while a slot of the monitor is open, ms. If a slot was skipped or lost
 * twice, votes expire while the next check runs. Most reports of that check come together, and the delay
 * gives them time to replace the expired votes, so that the status is not `unknown` for some milliseconds.
 * Code that removes an open slot must judge the votes.
 */
const UNDER_WAY_MS = 500;

/**
 * Time after its expiry at which a vote no longer counts, ms: a vote still counts at the instant of its
 * expiry (`isFresh`).
 */
const AGED_AFTER_MS = 1;

/** Time between the expiry of the monitor's votes and the check for expired votes, ms. */
export function looksLaterMs({ open }: Readonly<MonitorState>): number {
  return open.length > 0 ? UNDER_WAY_MS : 0;
}

/**
 * When the monitor must be judged if no event arrives before, monotonic ms: at the earliest deadline of its
 * open slots, or when the next vote has expired (not while the status is `unknown`). Null: never.
 *
 * @param now      the present, ms on the clock of `Vote.expiresAt`; votes that expired earlier are ignored
 * @param jumpedMs how far the votes' clock is ahead of the monotonic clock
 */
export function nextInstant(state: Readonly<MonitorState>, now: number, jumpedMs: number): number | null {
  const { open, votes } = state;
  let next = Number.POSITIVE_INFINITY;
  // Loops by index, because this runs for every state of every commit.
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

/**
 * Whether judging the monitor now may change anything.
 *
 * @param monotonic the present, monotonic ms
 * @param jumpedMs  how far the votes' clock is ahead of the monotonic clock
 */
export function isDue(state: Readonly<MonitorState>, monotonic: number, jumpedMs: number): boolean {
  if (state.open.some((open) => open.deadline <= monotonic)) return true;
  const laterMs = looksLaterMs(state);
  return (
    state.status !== 'unknown' && state.votes.some((vote) => !isFresh(vote, monotonic + jumpedMs - laterMs))
  );
}
