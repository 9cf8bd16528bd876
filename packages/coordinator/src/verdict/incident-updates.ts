/** What an operator says of an incident, in the order in which it usually goes. */
export const UPDATE_STATES = ['investigating', 'identified', 'monitoring', 'resolved'] as const;
export type UpdateState = (typeof UPDATE_STATES)[number];

/** What an operator says of the components that an incident affects. `none`: they work. */
export const IMPACTS = ['none', 'degraded', 'partial_outage', 'down'] as const;
export type Impact = (typeof IMPACTS)[number];

/** An update, as far as its incident follows from it. */
export type ToldState = { readonly id: number; readonly state: UpdateState; readonly at: number };

/** The update that says how it is now: the newest by its time, of several at one instant the one written last. */
export function newestUpdate<U extends ToldState>(updates: readonly U[]): U | null {
  let newest: U | null = null;
  for (const update of updates) {
    if (newest === null || update.at > newest.at || (update.at === newest.at && update.id > newest.id))
      newest = update;
  }
  return newest;
}

/** When an incident that people wrote is over: with its newest update, if that says so. Null: it is open. */
export function resolvedAt(updates: readonly ToldState[]): number | null {
  const newest = newestUpdate(updates);
  return newest?.state === 'resolved' ? newest.at : null;
}

/**
 * The state of an incident. An incident of a monitor is resolved by its recovery, whatever was written of it; until
 * then people may say so ahead of the monitor.
 */
export function stateOf(isClosed: boolean, updates: readonly ToldState[]): UpdateState {
  if (isClosed) return 'resolved';
  return newestUpdate(updates)?.state ?? 'investigating';
}
