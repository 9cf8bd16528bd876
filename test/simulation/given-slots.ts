import { BELIEVED_AHEAD_MS } from '@svc/coordinator/verdict/status.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { WorldStore } from './store.ts';

/** What is recorded of the slots that the monitor was given. */
export type GivenSlots = {
  /** The newest slot that is believed. */
  readonly newest: number | null;
  /** The newest slot of all, when it lies too far ahead to be believed. */
  readonly ahead: number | null;
};

export const NO_SLOTS: GivenSlots = { newest: null, ahead: null };

/**
 * The newest slots as a start finds them. While slots lie too far ahead of the wall clock, only those up to the present
 * are believed.
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
