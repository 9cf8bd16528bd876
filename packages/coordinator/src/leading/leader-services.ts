import type { Clock } from '@svc/shared/clock.ts';
import type { Measurement } from '@svc/shared/metrics/values.ts';
import { createManualDeliveries } from '../alerts/manual-deliveries.ts';
import { type ApiParts, monitorsIn } from '../api/api-parts.ts';
import { NotLeading } from '../api/problem.ts';
import { loadLiveMonitors } from '../declaration/live-monitors.ts';
import type { DeclaredFile } from '../declaration/yaml/declared-file.ts';
import type { NewlyQueued } from '../store/alerts/delivery-queue.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { storedVerdicts } from '../store/states/monitor-states.ts';
import type { Store } from '../store/store.ts';
import type { BuiltLeadership, LeadershipParts } from './leadership.ts';
import { leadingMeasurements } from './measurements.ts';

/**
 * The services of a leader that the API uses: state in the leader's
 * memory, and operations that are possible only while a coordinator leads.
 */
export type LeaderServices = Pick<
  ApiParts,
  'monitors' | 'agents' | 'checks' | 'deliveries' | 'overdue' | 'exports' | 'declaration' | 'slotNow'
> & {
  /** Called after a mail to a visitor of a status page was queued. */
  readonly pageMailQueued: (queued: NewlyQueued) => void;
  /** Whether the database accepts the results that the leader records. */
  readonly isRecording: () => boolean;
  readonly measurements: () => readonly Measurement[];
};

/**
 * Makes services that can be used whether this coordinator leads or not. While it does not lead:
 *
 * - monitors, statuses and votes are read from the database, where a leader elsewhere records them;
 * - agents, overdue alerts, export endpoints and a leader's metrics
 *   are missing, because their parts do not run in this process;
 * - the state of the declared file is the last one that
 *   `current` knows, because the file is not applied meanwhile;
 * - operations that need a leader are refused;
 * - a queued mail waits in the database until a leader finds it.
 *
 * @param current the services of the present leadership, or those of an earlier one; null: there are none
 * @param isLeading whether `current` belongs to a leadership that has started
 */
export function withOrWithoutLeader(
  current: () => LeaderServices | null,
  isLeading: () => boolean,
  { store, secrets, clock }: { store: Store; secrets: Secrets; clock: Pick<Clock, 'wall'> },
): LeaderServices {
  const leader = (): LeaderServices => {
    const services = current();
    if (services === null || !isLeading()) throw new NotLeading();
    return services;
  };
  return {
    monitors: {
      findMonitors: async (ids) =>
        isLeading() ? leader().monitors.findMonitors(ids) : loadLiveMonitors(store, secrets, ids),
      verdictsOf: async (ids) =>
        isLeading() ? leader().monitors.verdictsOf(ids) : storedVerdicts(store, ids),
    },
    agents: {
      agentsOf: (region) => (isLeading() ? (current()?.agents.agentsOf(region) ?? []) : []),
      liveRegions: () => (isLeading() ? (current()?.agents.liveRegions() ?? []) : []),
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
      testExport: async (id) => leader().exports.testExport(id),
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

/**
 * Makes the services of a leadership that has loaded the states of all monitors.
 *
 * @param declaredFile returns the declared file; null: no file is declared, or its first apply has not begun
 */
export function leaderServices(
  { store, clock, config, workspaceId }: LeadershipParts,
  parts: BuiltLeadership,
  declaredFile: () => DeclaredFile | null,
): LeaderServices {
  const { monitors, states, dispatch, recorder, deliverer, overdue, slotClock, metricsExport } = parts;
  const startedAt = clock.wall();
  return {
    monitors: monitorsIn(monitors, states),
    agents: {
      agentsOf: (region) => dispatch.agents.agentsOf(region),
      liveRegions: () => dispatch.agents.live(),
    },
    checks: dispatch,
    deliveries: createManualDeliveries({ store, clock, deliverer, publicUrl: config.publicUrl }),
    overdue: () => overdue.channels,
    exports: {
      endpoints: () => metricsExport.endpoints,
      testExport: (monitorId) => metricsExport.testEndpoint(monitorId),
    },
    declaration: () => {
      const status = declaredFile()?.status();
      return status === undefined ? null : { ...status, workspaceId };
    },
    pageMailQueued: (queued) => {
      // A person who requests a mail has a working address. So the waits after earlier failures end.
      deliverer.channelChanged(queued.notificationId);
      deliverer.deliverQueued(queued);
    },
    slotNow: () => slotClock.now(),
    isRecording: () => !recorder.isFailing,
    measurements: () => leadingMeasurements(parts, startedAt),
  };
}
