import type { Clock } from '@svc/shared/clock.ts';
import type { Measurement } from '@svc/shared/metrics/measurement.ts';
import type { AgentDirectory, CheckRunner, ExportDirectory, MonitorStates } from './api/dependencies.ts';
import { NotLeading } from './api/not-leading.ts';
import type { LiveMonitors } from './domain/monitor.ts';
import type { Deliveries } from './notify/deliveries.ts';

/** What is known only where checks are dispatched and results are recorded. */
export type Live = {
  readonly monitors: Pick<LiveMonitors, 'get'>;
  readonly states: MonitorStates;
  readonly agents: AgentDirectory;
  readonly checks: CheckRunner;
  readonly deliveries: Deliveries;
  readonly exports: ExportDirectory;
  /** The slots' clock, epoch ms. */
  readonly slotNow: () => number;
  /** The database takes what is recorded. */
  readonly isRecording: () => boolean;
  readonly measurements: () => readonly Measurement[];
};

/**
 * The live state as it is served, over every time of leading. While nobody leads:
 *
 * - statuses and votes are what was known last, as no verdict is made meanwhile; before the first time of
 *   leading every monitor is `unknown`;
 * - no agent is shown, as none is listened to, and there are no metrics of parts that do not run;
 * - what a leader has to do is refused.
 *
 * @param current what is known now or was known last; null: this coordinator has not led yet
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
      muted: () => (isLeading() ? (current()?.agents.muted() ?? []) : []),
    },
    checks: { runNow: async (...check) => leader().checks.runNow(...check) },
    deliveries: {
      replay: async (id) => leader().deliveries.replay(id),
      sendTest: async (id) => leader().deliveries.sendTest(id),
    },
    exports: {
      endpoints: () => (isLeading() ? (current()?.exports.endpoints() ?? []) : []),
      test: async (id) => leader().exports.test(id),
    },
    slotNow: () => current()?.slotNow() ?? Math.floor(clock.wall()),
    // A recorder that has stopped says nothing about the database.
    isRecording: () => !isLeading() || (current()?.isRecording() ?? true),
    measurements: () => (isLeading() ? (current()?.measurements() ?? []) : []),
  };
}
