import type { Clock } from '@svc/shared/clock.ts';
import type { Measurement } from '@svc/shared/metrics/values.ts';
import type { ApiParts } from './api/api-parts.ts';
import { NotLeading } from './api/problem.ts';
import type { NewlyQueued } from './store/alerts/delivery-queue.ts';

/** State that exists only where checks are dispatched and results are recorded. */
export type Live = Pick<
  ApiParts,
  | 'monitors'
  | 'states'
  | 'agents'
  | 'checks'
  | 'deliveries'
  | 'overdue'
  | 'exports'
  | 'declaration'
  | 'slotNow'
> & {
  /** A mail to a visitor of a status page was queued. */
  readonly pageMailQueued: (queued: NewlyQueued) => void;
  /** Whether the database accepts the records. */
  readonly isRecording: () => boolean;
  readonly measurements: () => readonly Measurement[];
};

/**
 * The live state as the API serves it, whether this coordinator leads or not. While nobody leads:
 *
 * - statuses and votes are the last known ones, because no verdict is made meanwhile; before the first term
 *   every monitor is `unknown`;
 * - no agents are shown, because nobody listens to them, and parts that do not run have no metrics;
 * - the state of the declared file is the last known one, because nobody applies it meanwhile;
 * - operations that need a leader are refused;
 * - what is queued waits for the next leader.
 *
 * @param current the present or last known state; null: this coordinator has not led yet
 * @param isLeading whether `current` is a leader's
 */
export function servedLive(
  current: () => Live | null,
  isLeading: () => boolean,
  clock: Pick<Clock, 'wall'>,
): Live {
  const leader = (): Live => {
    const live = current();
    if (live === null || !isLeading()) throw new NotLeading();
    return live;
  };
  return {
    monitors: { get: (id) => current()?.monitors.get(id) },
    states: { get: (id) => current()?.states.get(id) },
    agents: {
      agentsOf: (region) => (isLeading() ? (current()?.agents.agentsOf(region) ?? []) : []),
      live: () => (isLeading() ? (current()?.agents.live() ?? []) : []),
    },
    checks: { runNow: async (...check) => leader().checks.runNow(...check) },
    deliveries: {
      replayDelivery: async (id) => leader().deliveries.replayDelivery(id),
      replayChannel: async (id) => leader().deliveries.replayChannel(id),
      sendTest: async (id) => leader().deliveries.sendTest(id),
    },
    overdue: () => (isLeading() ? (current()?.overdue() ?? []) : []),
    exports: {
      endpoints: () => (isLeading() ? (current()?.exports.endpoints() ?? []) : []),
      test: async (id) => leader().exports.test(id),
    },
    declaration: () => current()?.declaration() ?? null,
    pageMailQueued: (queued) => {
      if (isLeading()) current()?.pageMailQueued(queued);
    },
    slotNow: () => current()?.slotNow() ?? Math.floor(clock.wall()),
    // A stopped recorder says nothing about the database.
    isRecording: () => !isLeading() || (current()?.isRecording() ?? true),
    measurements: () => (isLeading() ? (current()?.measurements() ?? []) : []),
  };
}
