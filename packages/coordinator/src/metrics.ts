import type { Metric } from './api/metrics.ts';
import type { Dispatch } from './dispatch/dispatch.ts';
import { type LiveMonitors, MONITOR_STATUSES } from './domain/monitor.ts';
import type { States } from './evaluation/state.ts';
import type { Deliverer } from './notify/deliverer.ts';
import type { ResultConsumer } from './recording/consumer.ts';
import type { Recorder } from './recording/recorder.ts';
import type { Rollups } from './rollups/rollups.ts';

type Sources = {
  monitors: LiveMonitors;
  states: States;
  dispatch: Dispatch;
  recorder: Recorder;
  consumer: ResultConsumer;
  deliverer: Deliverer;
  rollups: Rollups;
};

/** What `/metrics` shows of the coordinator. */
export function coordinatorMetrics(sources: Sources): Metric[] {
  const { monitors, dispatch, recorder, consumer, deliverer, rollups } = sources;
  const deliveries = deliverer.metrics;
  return [
    gauge('svc_monitors', 'Declared monitors.', monitors.size),
    byLabel('svc_monitor_statuses', 'Monitors by status.', 'gauge', 'status', statusCounts(sources)),
    gauge('svc_jobs_in_flight', 'Jobs given to a region and not reported yet.', dispatch.inFlight),
    byLabel(
      'svc_agents_sick',
      'Agents that find something wrong with themselves.',
      'gauge',
      'sickness',
      dispatch.agents.sick,
    ),
    gauge(
      'svc_regions_muted',
      'Regions whose agents say more than is read, and are not heard for a while.',
      dispatch.muted.length,
    ),
    byLabel('svc_dispatch_events_total', 'What dispatch did.', 'counter', 'event', dispatch.counters),
    counter('svc_results_recorded_total', 'Results recorded.', recorder.counts.results),
    counter('svc_results_duplicate_total', 'Results that were there already.', recorder.counts.duplicates),
    counter('svc_record_transactions_total', 'Recording transactions.', recorder.counts.transactions),
    counter('svc_record_failures_total', 'Recording transactions that failed.', recorder.counts.failures),
    byLabel('svc_results_dropped_total', 'Results and messages dropped.', 'counter', 'reason', {
      ...recorder.dropped,
      ...consumer.dropped,
    }),
    gauge(
      'svc_rollups_behind_seconds',
      'Age of the oldest result that is not rolled up; an hour and some minutes are normal.',
      Math.round(rollups.behindMs / 1_000),
    ),
    byLabel(
      'svc_delivery_attempts_total',
      'Attempts to deliver alerts.',
      'counter',
      'outcome',
      deliveries.attempts,
    ),
    gauge('svc_delivery_lanes', 'Monitors and channels with pending deliveries.', deliveries.lanes),
    gauge('svc_deliveries_sending', 'Deliveries being sent.', deliveries.sending),
  ];
}

function statusCounts({ monitors, states }: Sources): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(MONITOR_STATUSES.map((status) => [status, 0]));
  for (const { id } of monitors.values()) {
    const status = states.get(id)?.status ?? 'unknown';
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, type: 'gauge', samples: [{ value }] };
}

function counter(name: string, help: string, value: number): Metric {
  return { name, help, type: 'counter', samples: [{ value }] };
}

function byLabel(
  name: string,
  help: string,
  type: Metric['type'],
  label: string,
  values: Readonly<Record<string, number>>,
): Metric {
  const samples = Object.entries(values).map(([text, value]) => ({ labels: { [label]: text }, value }));
  return { name, help, type, samples };
}
