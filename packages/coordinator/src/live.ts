import { SvcError } from '@svc/shared/errors.ts';
import type { AgentDirectory, CheckRunner, MonitorStates } from './api/dependencies.ts';
import type { Metric } from './api/metrics.ts';
import type { LiveMonitors } from './domain/monitor.ts';
import type { Deliveries } from './notify/deliveries.ts';

/** What is known only where checks are dispatched and results are recorded. */
export type Live = {
  readonly monitors: Pick<LiveMonitors, 'get'>;
  readonly states: MonitorStates;
  readonly agents: AgentDirectory;
  readonly checks: CheckRunner;
  readonly deliveries: Deliveries;
  /** The slots' clock, epoch ms. */
  readonly slotNow: () => number;
  /** The database takes what is recorded. */
  readonly isRecording: () => boolean;
  readonly metrics: () => readonly Metric[];
};

/** This coordinator does not lead now: what only a leader can do is not done here. */
export class NotLeading extends SvcError {
  readonly retryable = true;

  constructor() {
    super('not-leading', 'this coordinator does not lead at this moment');
  }
}

/**
 * The live state as it is served, over every time of leading: what was known last stays to be read, and what
 * has to be done by a leader is refused while there is none.
 *
 * @param current what is known now or was known last; null: this coordinator has not led yet
 * @param isLeading whether `current` is a leader's
 */
export function servedLive(
  current: () => Live | null,
  isLeading: () => boolean,
): Omit<Live, 'isRecording' | 'metrics'> {
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
      replay: async (id) => leader().deliveries.replay(id),
      sendTest: async (id) => leader().deliveries.sendTest(id),
    },
    slotNow: () => current()?.slotNow() ?? Date.now(),
  };
}
