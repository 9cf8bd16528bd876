import { BELIEVED_AHEAD_MS } from '@svc/coordinator/verdict/status.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { WorldStore } from './store.ts';

/** The newest recorded slots that the monitor was given. */
export type GivenSlots = {
  /** The newest believed slot; null: there is none. */
  readonly newest: number | null;
  /** The newest slot of all, if it lies too far ahead of the clock to be believed; otherwise null. */
  readonly ahead: number | null;
};

export const NO_SLOTS: GivenSlots = { newest: null, ahead: null };

/**
 * Finds the newest slots, as a start does. If a slot lies too far
 * ahead of the wall clock, only slots up to the present are believed.
 */
export async function givenSlots(
  { store, clock }: { store: WorldStore; clock: Clock },
  monitorId: number,
): Promise<GivenSlots> {
  const wall = Math.floor(clock.wall());
  const newest = await store.newestSlot(monitorId, Number.POSITIVE_INFINITY);
  if (newest === null || newest <= wall + BELIEVED_AHEAD_MS) return { newest, ahead: null };
  return { newest: await store.newestSlot(monitorId, wall), ahead: newest };
}
