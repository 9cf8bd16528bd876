import type { MONITOR_STATUS_VALUES } from '../resources/monitor-common.ts';
import { counter, gauge, histogram } from './instrument.ts';

/**
 * Counters of the results that are read from the streams and recorded. The counters
 * of a shard count from the moment when the coordinator began to lead the shard.
 */
export const RECORDING_COUNTERS = {
  results: counter('svc_results_total', 'Results that were recorded.', {
    label: {
      name: 'novelty',
      values: {
        new: 'It was not recorded yet.',
        repeated: 'It was recorded already, and counts once.',
      },
    },
  }),
  batches: counter('svc_result_batches_total', 'Batches of results that were read from the streams.'),
  resultsDropped: counter('svc_results_dropped_total', 'Results that were read and not recorded.', {
    label: {
      name: 'reason',
      values: {
        malformed: 'It could not be read.',
        'bad-token': 'It has no valid token: its job was never given to the region.',
        'unknown-monitor': 'Its monitor does not exist any more.',
      },
    },
    advice:
      'Where `malformed` or `bad-token` grows, a client that is no agent publishes results. Check who has the key of the region that the log names.',
  }),
  messagesDropped: counter('svc_result_messages_dropped_total', 'Messages of results that were lost whole.', {
    label: {
      name: 'reason',
      values: {
        malformed: 'It could not be read.',
        lost: 'The stream dropped it before it was read, because of its limit.',
        'handling-failed': 'A defect of svc; the log has it.',
      },
    },
    advice:
      'Any growth: look at the log. Where `lost` grows, results are lost: raise `SVC_RESULTS_MAX_BYTES`, or find out why the coordinator reads too slowly.',
  }),
  streamsReplaced: counter(
    'svc_streams_replaced_total',
    'Streams of results that were emptied, restored or created anew. They are read from their beginning.',
    {
      advice: 'Any growth that your own operators did not cause: the unread results of the stream are lost.',
    },
  ),
  eventsDropped: counter(
    'svc_recorder_events_dropped_total',
    'Events that should have been recorded and were left out.',
    {
      label: {
        name: 'reason',
        values: {
          overflow: 'The database accepted no writes for so long that events of dispatch were dropped.',
          unrecordable: 'The event itself cannot be recorded. The others were recorded without it.',
        },
      },
      advice: 'Any growth: the log has the reason.',
    },
  ),
  becameUnknown: counter(
    'svc_monitors_became_unknown_total',
    'Times that a monitor became `unknown` without a change of its declaration.',
    { advice: 'Any growth: too few regions report. See `svc_jobs_abstained_total` and `svc_agent_sick`.' },
  ),
  transactions: counter('svc_record_transactions_total', 'Transactions that record results.', {
    label: {
      name: 'outcome',
      values: {
        committed: 'It was committed.',
        failed: 'The database did not accept it. svc tries again.',
      },
    },
    advice: 'Where `failed` grows, look at the disk of the database. Nothing is lost meanwhile.',
  }),
  transactionDuration: histogram(
    'svc_record_transaction_duration_seconds',
    'How long transactions that record results took, from the request to the commit.',
    {
      unit: 'seconds',
      bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      advice: 'Where many take longer than 0.25 s, the disk of the database is too slow.',
    },
  ),
};

const STREAM_REGION = {
  region: "Regions whose stream exists; there are 28 regions, and up to 100 of one's own.",
};

const STATUSES = {
  active: 'It is up.',
  degraded: 'It is up and slow.',
  error: 'It is down.',
  unknown: 'Too few regions have reported, or the monitor is not active.',
} satisfies Record<(typeof MONITOR_STATUS_VALUES)[number], string>;

/**
 * The gauges of recording. They are measured when they are read, but for the sizes of streams, which are up
 * to 10 s old.
 */
export const RECORDING_GAUGES = {
  monitors: gauge('svc_monitors', 'Monitors by status.', { label: { name: 'status', values: STATUSES } }),
  backlogEvents: gauge('svc_backlog_events', 'Events that wait in memory to be recorded.'),
  backlogAge: gauge(
    'svc_backlog_age_seconds',
    'How long the oldest result has waited to be recorded, in memory or in a stream.',
    {
      unit: 'seconds',
      advice: 'Above 60: results come faster than they are recorded, or the disk does not answer.',
    },
  ),
  acceptsWrites: gauge(
    'svc_database_accepts_writes',
    '1 while the database accepts what is recorded, else 0.',
    { advice: '0: look at the disk of the database. Nothing is lost while NATS keeps the results.' },
  ),
  streamBytes: gauge('svc_stream_bytes', 'Size of the stream of results, as it was up to 10 s ago.', {
    unit: 'bytes',
    openLabels: STREAM_REGION,
  }),
  streamLimit: gauge(
    'svc_stream_limit_bytes',
    'Limit of the stream of results. Beyond it the oldest results are lost.',
    {
      unit: 'bytes',
      openLabels: STREAM_REGION,
      advice:
        '`svc_stream_bytes` above 80 % of it: results are not recorded, or `SVC_RESULTS_MAX_BYTES` is too low.',
    },
  ),
  rollupsBehind: gauge(
    'svc_rollups_behind_seconds',
    'How long the oldest complete hour of results has waited to be rolled up. 0: none waits.',
    { unit: 'seconds', advice: 'Above two hours: summaries are out of date. The log has the reason.' },
  ),
};
