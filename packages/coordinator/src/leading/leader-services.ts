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
import { shardOf } from '../verdict/shard.ts';
import type { BuiltLeadership, LeadershipParts } from './build-leadership.ts';
import { joinMeasurements, leadingMeasurements } from './measurements.ts';

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

/** What this coordinator leads. */
export interface Leaders {
  /** Number of shards of the installation. */
  readonly shardCount: number;
  /**
   * The services of the shard's present leadership. For shard 0 without
   * one, they may be those of its last leadership. Null: there are none.
   */
  servicesOf(shard: number): LeaderServices | null;
  /** Whether this coordinator leads the shard: its leadership has started. */
  leads(shard: number): boolean;
}

/**
 * Makes services that can be used whether this coordinator leads or not. Deliveries, overdue alerts,
 * queued mails and the declared file belong to shard 0. For a shard that this coordinator does not lead:
 *
 * - monitors, statuses and votes are read from the database, where the shard's leader records them;
 * - overdue alerts, export endpoints and a leader's metrics are
 *   missing, because their parts do not run in this process;
 * - the declared file has the state that the last leadership in this process knew, or no state;
 * - operations that need the shard's leader are refused;
 * - a queued mail waits in the database until the leader finds it.
 *
 * If this coordinator leads no shard, agents are missing too, and manual checks are refused.
 */
export function withOrWithoutLeader(
  leaders: Leaders,
  { store, secrets, clock }: { store: Store; secrets: Secrets; clock: Pick<Clock, 'wall'> },
): LeaderServices {
  const shards = Array.from({ length: leaders.shardCount }, (_, shard) => shard);
  const led = (shard: number) => (leaders.leads(shard) ? leaders.servicesOf(shard) : null);
  const allLed = () => shards.flatMap((shard) => led(shard) ?? []);
  const leader = (shard?: number): LeaderServices => {
    const services = shard === undefined ? allLed()[0] : led(shard);
    if (services === null || services === undefined) throw new NotLeading();
    return services;
  };
  const first = () => led(0);
  /** Asks the leader of each monitor in this process, or `stored` about monitors that are led elsewhere. */
  async function ofMonitors<Found>(
    ids: readonly number[],
    ask: (services: LeaderServices, ids: readonly number[]) => Promise<ReadonlyMap<number, Found>>,
    stored: (ids: readonly number[]) => Promise<ReadonlyMap<number, Found>>,
  ): Promise<ReadonlyMap<number, Found>> {
    const byLeader = Map.groupBy(ids, (id) => led(shardOf(id, leaders.shardCount)));
    const found = await Promise.all(
      [...byLeader].map(([services, some]) => (services === null ? stored(some) : ask(services, some))),
    );
    return found.length === 1 ? (found[0] ?? new Map()) : new Map(found.flatMap((each) => [...each]));
  }
  return {
    monitors: {
      findMonitors: (ids) =>
        ofMonitors(
          ids,
          async ({ monitors }, some) => monitors.findMonitors(some),
          (some) => loadLiveMonitors(store, secrets, some),
        ),
      verdictsOf: (ids) =>
        ofMonitors(
          ids,
          async ({ monitors }, some) => monitors.verdictsOf(some),
          (some) => storedVerdicts(store, some),
        ),
    },
    agents: {
      agentsOf: (region) => allLed()[0]?.agents.agentsOf(region) ?? [],
      liveRegions: () => allLed()[0]?.agents.liveRegions() ?? [],
    },
    checks: { runNow: async (...check) => leader().checks.runNow(...check) },
    deliveries: {
      replayDelivery: async (id) => leader(0).deliveries.replayDelivery(id),
      replayChannel: async (id) => leader(0).deliveries.replayChannel(id),
      sendTest: async (id) => leader(0).deliveries.sendTest(id),
    },
    overdue: () => first()?.overdue() ?? [],
    exports: {
      endpoints: () => allLed().flatMap(({ exports }) => exports.endpoints()),
      testExport: async (id) => leader(shardOf(id, leaders.shardCount)).exports.testExport(id),
    },
    declaration: () => leaders.servicesOf(0)?.declaration() ?? null,
    pageMailQueued: (queued) => first()?.pageMailQueued(queued),
    slotNow: () => {
      const services = allLed()[0] ?? leaders.servicesOf(0);
      return services?.slotNow() ?? Math.floor(clock.wall());
    },
    // Only shards that are led here are asked: a stopped recorder says nothing about the database.
    isRecording: () => allLed().every((services) => services.isRecording()),
    measurements: () => joinMeasurements(allLed().map((services) => services.measurements())),
  };
}

/** Refuses a call about deliveries to the leader of a shard other than 0. No request leads to such a call. */
const refused = async () => Promise.reject(new NotLeading());
const NO_DELIVERIES = { replayDelivery: refused, replayChannel: refused, sendTest: refused };

/**
 * Makes the services of a leadership that has loaded the states of its monitors.
 *
 * @param declaredFile returns the declared file; null: no file is declared,
 *   the shard is not 0, or the first apply of the file has not begun
 */
export function leaderServices(
  { shard, store, clock, config, workspaceId }: LeadershipParts,
  parts: BuiltLeadership,
  declaredFile: () => DeclaredFile | null,
): LeaderServices {
  const { monitors, states, dispatch, recorder, slotClock, metricsExport, installation } = parts;
  const startedAt = clock.wall();
  return {
    monitors: monitorsIn(monitors, states),
    agents: {
      agentsOf: (region) => dispatch.agents.agentsOf(region),
      liveRegions: () => dispatch.agents.live(),
    },
    checks: dispatch,
    deliveries:
      installation === null
        ? NO_DELIVERIES
        : createManualDeliveries({ ...installation, store, clock, publicUrl: config.publicUrl }),
    overdue: () => installation?.overdue.channels ?? [],
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
      installation?.deliverer.channelChanged(queued.notificationId);
      installation?.deliverer.deliverQueued(queued);
    },
    slotNow: () => slotClock.now(),
    isRecording: () => !recorder.isFailing,
    measurements: () => leadingMeasurements(parts, shard, startedAt),
  };
}
