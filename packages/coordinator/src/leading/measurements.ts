import { DELIVERY_COUNTERS, DELIVERY_GAUGES } from '@svc/shared/metrics/delivery-instruments.ts';
import { DISPATCH_COUNTERS, DISPATCH_GAUGES } from '@svc/shared/metrics/dispatch-instruments.ts';
import { EXPORT_COUNTERS, EXPORT_GAUGES } from '@svc/shared/metrics/export-instruments.ts';
import { RECORDING_COUNTERS, RECORDING_GAUGES } from '@svc/shared/metrics/recording-instruments.ts';
import {
  type Distribution,
  type Measurement,
  measurementsOf,
  type Point,
  type Series,
  seriesOf,
  type ValuesOf,
} from '@svc/shared/metrics/values.ts';
import type { KnownAgent } from '../checks/agents.ts';
import type { ResultConsumer } from '../checks/consumer.ts';
import type { Dispatch } from '../checks/dispatch.ts';
import type { Recorder } from '../checks/recorder.ts';
import type { MetricsExport } from '../export/metrics-export.ts';
import type { LiveMonitors } from '../verdict/monitor.ts';
import type { Shard } from '../verdict/shard.ts';
import type { States } from '../verdict/state.ts';
import type { InstallationParts } from './build-leadership.ts';

type Sources = {
  monitors: LiveMonitors;
  states: States;
  dispatch: Dispatch;
  recorder: Recorder;
  transactionDuration: Distribution;
  consumer: ResultConsumer;
  metricsExport: MetricsExport;
  installation: InstallationParts | null;
};

/**
 * The measurements of a shard that exist only while the coordinator leads
 * the shard. If there are several shards, each point has the label `shard`.
 *
 * @param startedAt when the parts of the leadership were built, epoch ms
 */
export function leadingMeasurements(sources: Sources, shard: Shard, startedAt: number): Measurement[] {
  const { dispatch, installation, metricsExport } = sources;
  const measured = [
    ...measurementsOf(DISPATCH_COUNTERS, dispatch.counters, startedAt),
    ...measurementsOf(
      DISPATCH_GAUGES,
      {
        ...regionGauges(dispatch),
        jobsInFlight: dispatch.inFlight,
        agentsSick: dispatch.agents.sick,
      },
      startedAt,
    ),
    ...measurementsOf(RECORDING_COUNTERS, recordingCounters(sources), startedAt),
    ...measurementsOf(RECORDING_GAUGES, recordingGauges(sources), startedAt),
    ...(installation === null ? [] : deliveryMeasurements(installation, startedAt)),
    ...measurementsOf(EXPORT_COUNTERS, { points: { ...metricsExport.points } }, startedAt),
    ...measurementsOf(EXPORT_GAUGES, exportGauges(metricsExport), startedAt),
  ];
  if (shard.count === 1) return measured;
  const labelled = (point: Point): Point => ({
    ...point,
    labels: { shard: String(shard.id), ...point.labels },
  });
  return measured.map((each) => ({ ...each, points: each.points.map(labelled) }));
}

/** The measurements of several leaderships, with one entry for each instrument. */
export function joinMeasurements(measured: readonly (readonly Measurement[])[]): Measurement[] {
  const joined = new Map<string, Measurement>();
  for (const each of measured.flat()) {
    const { name } = each.instrument;
    const known = joined.get(name);
    joined.set(name, known === undefined ? each : { ...known, points: [...known.points, ...each.points] });
  }
  return [...joined.values()];
}

function deliveryMeasurements(parts: InstallationParts, startedAt: number): Measurement[] {
  return [
    ...measurementsOf(DELIVERY_COUNTERS, parts.deliverer.counters, startedAt),
    ...measurementsOf(DELIVERY_GAUGES, deliveryGauges(parts), startedAt),
  ];
}

function deliveryGauges({ deliverer, overdue }: InstallationParts): ValuesOf<typeof DELIVERY_GAUGES> {
  const { pairs, oldestMs } = overdue.waiting;
  return {
    lanes: pairs,
    sending: deliverer.sending,
    age: oldestMs / 1_000,
    overdue: overdue.channels.length,
  };
}

function exportGauges({ endpoints }: MetricsExport): ValuesOf<typeof EXPORT_GAUGES> {
  const failing = endpoints.filter(({ isFailing }) => isFailing).length;
  const buffered = endpoints.reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0);
  return { endpoints: { failing, working: endpoints.length - failing }, buffered };
}

function recordingCounters({
  recorder,
  consumer,
  transactionDuration,
}: Sources): ValuesOf<typeof RECORDING_COUNTERS> {
  const { counts, dropped } = recorder;
  return {
    batches: counts.batches,
    results: { new: counts.results - counts.duplicates, repeated: counts.duplicates },
    resultsDropped: {
      malformed: consumer.dropped['malformed-result'],
      'bad-token': dropped['bad-token'],
      'unknown-monitor': dropped['unknown-monitor'],
    },
    messagesDropped: {
      malformed: consumer.dropped['malformed-message'],
      lost: consumer.dropped['results-dropped'],
      'handling-failed': consumer.dropped['handling-failed'],
    },
    streamsReplaced: consumer.dropped['stream-replaced'],
    eventsDropped: { overflow: dropped['event-overflow'], unrecordable: dropped.unrecordable },
    becameUnknown: dropped['monitor-unknown'],
    transactions: { committed: counts.transactions, failed: counts.failures },
    transactionDuration,
  };
}

function recordingGauges({
  monitors,
  states,
  recorder,
  consumer,
  installation,
}: Sources): ValuesOf<typeof RECORDING_GAUGES> {
  const byStatus = { active: 0, degraded: 0, error: 0, unknown: 0 };
  for (const { id } of monitors.values()) byStatus[states.get(id)?.status ?? 'unknown'] += 1;
  const { events, oldestMs } = recorder.backlog;
  return {
    monitors: byStatus,
    backlogEvents: events,
    backlogAge: Math.max(oldestMs, consumer.lagMs) / 1_000,
    acceptsWrites: Number(!recorder.isFailing),
    streamBytes: seriesOf(
      RECORDING_GAUGES.streamBytes,
      consumer.streamSizes.map(({ region, bytes }) => [{ region }, bytes]),
    ),
    streamLimit: seriesOf(
      RECORDING_GAUGES.streamLimit,
      consumer.streamSizes.map(({ region, maxBytes }) => [{ region }, maxBytes]),
    ),
    rollupsBehind: installation === null ? Number.NaN : installation.rollups.behindMs / 1_000,
  };
}

type RegionGauges = Pick<
  ValuesOf<typeof DISPATCH_GAUGES>,
  'agents' | 'agentsCapacity' | 'agentsHeld' | 'agentsLoopDelay' | 'agentsClockOffset'
>;

/** The gauges of each region, from the last heartbeats of its agents that take jobs. */
function regionGauges({ agents, regions }: Pick<Dispatch, 'agents' | 'regions'>): RegionGauges {
  const byRegion = regions.map((region) => {
    const known = [...agents.agentsOf(region)];
    return { region, live: known.filter(({ serial, isDraining }) => serial > 0 && !isDraining) };
  });
  const measured = (
    gauge: (typeof DISPATCH_GAUGES)[keyof RegionGauges],
    measure: (live: readonly KnownAgent[]) => number,
  ): Series<'region'> =>
    seriesOf(
      gauge,
      byRegion.map(({ region, live }) => [{ region }, measure(live)]),
    );
  return {
    agents: measured(DISPATCH_GAUGES.agents, (live) => live.length),
    agentsCapacity: measured(DISPATCH_GAUGES.agentsCapacity, sumOf('capacity')),
    agentsHeld: measured(DISPATCH_GAUGES.agentsHeld, sumOf('held')),
    agentsLoopDelay: measured(DISPATCH_GAUGES.agentsLoopDelay, largestOf('loopDelayMs')),
    agentsClockOffset: measured(DISPATCH_GAUGES.agentsClockOffset, largestOf('clockOffsetMs')),
  };
}

function sumOf(member: 'capacity' | 'held') {
  return (live: readonly KnownAgent[]): number => live.reduce((sum, agent) => sum + agent[member], 0);
}

/** Makes a function that finds the largest absolute value of this attribute among agents, seconds. */
function largestOf(member: 'loopDelayMs' | 'clockOffsetMs') {
  return (live: readonly KnownAgent[]): number =>
    live.reduce((largest, agent) => Math.max(largest, Math.abs(agent[member])), 0) / 1_000;
}
