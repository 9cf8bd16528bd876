import type { MonitorState } from './states.ts';

/**
 * When the monitor is to be looked at although nothing arrives, monotonic ms: its oldest open slot's
 * deadline, or the next expiry of a vote (which matters only while the status stands on votes).
 * Null: never.
 */
export function nextInstant(state: Readonly<MonitorState>, now: number): number | null {
  let next = Number.POSITIVE_INFINITY;
  for (const open of state.open) next = Math.min(next, open.deadline);
  if (state.status !== 'unknown') {
    for (const vote of state.votes) {
      if (vote.expiresAt > now) next = Math.min(next, vote.expiresAt);
    }
  }
  return next === Number.POSITIVE_INFINITY ? null : next;
}

/** Whether looking at the monitor at `now` may change anything. */
export function isDue(state: Readonly<MonitorState>, now: number): boolean {
  if (state.open.some((open) => open.deadline <= now)) return true;
  return state.status !== 'unknown' && state.votes.some((vote) => vote.expiresAt <= now);
}
