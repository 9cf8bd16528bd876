/** The states that an operator can give an incident, in their usual order. */
export const UPDATE_STATES = ['investigating', 'identified', 'monitoring', 'resolved'] as const;
export type UpdateState = (typeof UPDATE_STATES)[number];

/** The impact that an operator states for the affected components. `none`: the components work. */
export const IMPACTS = ['none', 'degraded', 'partial_outage', 'down'] as const;
export type Impact = (typeof IMPACTS)[number];

/** The parts of an update that decide the state of its incident. */
export type ToldState = { readonly id: number; readonly state: UpdateState; readonly at: number };

/**
 * The newest update by its time. Among several updates with the same time, it is the one that was written
 * last. Null: there are no updates.
 */
export function newestUpdate<U extends ToldState>(updates: readonly U[]): U | null {
  let newest: U | null = null;
  for (const update of updates) {
    if (newest === null || update.at > newest.at || (update.at === newest.at && update.id > newest.id))
      newest = update;
  }
  return newest;
}

/**
 * When an incident that people wrote was resolved: the time of its newest update, if the state of that update
 * is `resolved`. Null: the incident is open.
 */
export function resolvedAt(updates: readonly ToldState[]): number | null {
  const newest = newestUpdate(updates);
  return newest?.state === 'resolved' ? newest.at : null;
}

/**
 * The state of a monitor's incident. When the monitor recovers, its incident is resolved,
 * whatever the updates say. An update may resolve the incident before the monitor recovers.
 *
 * @param isClosed whether the incident has ended, with or without a recovery
 */
export function stateOf(isClosed: boolean, updates: readonly ToldState[]): UpdateState {
  if (isClosed) return 'resolved';
  return newestUpdate(updates)?.state ?? 'investigating';
}
