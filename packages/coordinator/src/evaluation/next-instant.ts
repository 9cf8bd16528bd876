import type { MonitorState } from './state.ts';

/**
 * When the monitor must be looked at although nothing arrives, monotonic ms: the deadline of its oldest open
 * slot, or the next expiry of a vote (which matters only while the status depends on votes). Null: never.
 *
 * @param now      votes that expired before it (see `Vote.expiresAt`) are not looked at again
 * @param jumpedMs how far the votes' clock is ahead of the monotonic one
 */
export function nextInstant(state: Readonly<MonitorState>, now: number, jumpedMs: number): number | null {
  let next = Number.POSITIVE_INFINITY;
  for (const open of state.open) next = Math.min(next, open.deadline);
  if (state.status !== 'unknown') {
    for (const vote of state.votes) {
      if (vote.expiresAt > now) next = Math.min(next, vote.expiresAt - jumpedMs);
    }
  }
  return next === Number.POSITIVE_INFINITY ? null : next;
}

/** Whether looking at the monitor now may change anything. `monotonic` and `jumpedMs` are ms. */
export function isDue(state: Readonly<MonitorState>, monotonic: number, jumpedMs: number): boolean {
  if (state.open.some((open) => open.deadline <= monotonic)) return true;
  return state.status !== 'unknown' && state.votes.some((vote) => vote.expiresAt <= monotonic + jumpedMs);
}
