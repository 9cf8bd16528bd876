import type { Outcome } from '../messages/check-result.ts';
import type { Sickness } from '../messages/heartbeat.ts';
import { counter, gauge, histogram } from './instrument.ts';

const REFUSALS = {
  held: 'The agent holds the job already: the region was asked once more.',
  finished: 'The agent ran the job within the last five minutes.',
  full: 'The agent has as many jobs as it can run in time.',
  draining: 'The agent is ending.',
  unsupported: 'The agent does not know this kind of check, or cannot read it; update the agent.',
};

const OUTCOMES = {
  passed: 'The target is up.',
  degraded: 'The target is up and slow, or its certificate expires soon.',
  failed: 'The target is down.',
  not_run: 'The agent could not probe. The outcome says nothing about the target.',
} satisfies Record<Outcome, string>;

/** The counters of an agent. They count from its start. */
export const AGENT_COUNTERS = {
  attempts: counter(
    'svc_agent_attempts_total',
    'Attempts that were begun. A check has one attempt and its retries.',
  ),
  lateness: histogram(
    'svc_agent_check_lateness_seconds',
    'How late the first attempts of checks began: after the slot, or after the receipt where the job came later than that.',
    {
      unit: 'seconds',
      bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5],
      advice:
        'Where many are above 0.25 s, the agent has too much work: see `svc_event_loop_delay_seconds` and `svc_agent_sick`, or add agents.',
    },
  ),
  accepted: counter('svc_agent_jobs_accepted_total', 'Jobs that were taken.'),
  refused: counter('svc_agent_jobs_refused_total', 'Jobs that came and were not taken.', {
    label: { name: 'reason', values: REFUSALS },
    advice: 'Where `full` grows, the region needs more agents, or a higher `SVC_CONCURRENCY`.',
  }),
  results: counter('svc_agent_results_total', 'Checks that have ended.', {
    label: { name: 'outcome', values: OUTCOMES },
    advice: 'Where `not_run` grows, the log and `svc_agent_sick` say why.',
  }),
  droppedMessages: counter('svc_agent_messages_dropped_total', 'Messages that were thrown away whole.', {
    label: {
      name: 'reason',
      values: {
        oversized: 'It is larger than any message of svc.',
        'not-json': 'It is not JSON.',
        invalid: 'It is not a message that the agent knows.',
        'foreign-results': "It names a subject for results that is not the region's own.",
      },
    },
    advice:
      'Any growth: a client other than the coordinator publishes on the subject of jobs, or the coordinator is much newer than the agent. Check who has a key to NATS.',
  }),
  droppedJobs: counter(
    'svc_agent_jobs_dropped_total',
    'Jobs that could not be read, in messages that could.',
    {
      advice: 'Any growth: the coordinator is much newer than the agent; update the agent.',
    },
  ),
  batchesSent: counter(
    'svc_agent_batches_sent_total',
    'Batches of results that were sent, repeats included.',
  ),
  batchesAcknowledged: counter(
    'svc_agent_batches_acknowledged_total',
    'Batches of results that the stream has stored.',
  ),
  batchesResent: counter(
    'svc_agent_batches_resent_total',
    'Batches of results that were sent again: no acknowledgement came in time, or the connection was made anew.',
    { advice: 'Steady growth: NATS is slow or far away. Look at its disk and at the network.' },
  ),
  batchesRefused: counter(
    'svc_agent_batches_refused_total',
    'Batches of results that were answered with an error, or that no stream took.',
    {
      advice:
        'Any growth: the log has the answer. The stream may be full, or missing until the coordinator is there.',
    },
  ),
  batchesDisowned: counter(
    'svc_agent_batches_disowned_total',
    'Batches of results that the stream took for repeats although they were new. They were sent again.',
    {
      advice:
        "Any growth: a client with the region's key tampers with its stream. Give the region a new key.",
    },
  ),
  disconnects: counter('svc_agent_nats_disconnects_total', 'Times that the connection to NATS was lost.', {
    advice: 'Steady growth: look at NATS and at the way to it.',
  }),
  resultsDropped: counter(
    'svc_agent_results_dropped_total',
    'Results that were lost: the outbox was full, the stream refused them for good, or the agent ended first.',
    { advice: 'Any growth: results are lost. NATS was away for too long, or refuses what the agent sends.' },
  ),
};

/** The gauges of an agent. They are measured when they are read. */
export const AGENT_GAUGES = {
  running: gauge('svc_agent_attempts_running', 'Attempts in progress.'),
  pending: gauge(
    'svc_agent_checks_pending',
    'Checks that wait for their slot, for a place or for their next attempt.',
  ),
  held: gauge(
    'svc_agent_jobs_held',
    'Jobs that were taken and have no result yet, or one other than `not_run` that is not acknowledged.',
  ),
  outbox: gauge('svc_agent_outbox_batches', 'Batches of results that are not acknowledged yet.', {
    advice: 'Steady growth: NATS does not take results. Look at its disk and at the connection.',
  }),
  outboxAge: gauge(
    'svc_agent_outbox_age_seconds',
    'How long the oldest batch of results has waited to be acknowledged; 0 without one.',
    {
      unit: 'seconds',
      advice:
        'Above 60: NATS does not take results. The agent keeps some 100,000 results, then the oldest are lost.',
    },
  ),
  info: gauge('svc_agent_info', 'Always 1. The labels say which agent it is.', {
    openLabels: {
      region: 'The region that the agent probes from.',
      agent: 'The id of the agent, under which `/v1/regions` has it. An agent has one.',
    },
  }),
  connected: gauge('svc_agent_nats_connected', '1 while the agent is connected to NATS, else 0.', {
    advice: '0 for more than a minute: look at NATS and at the way to it.',
  }),
  sick: gauge('svc_agent_sick', '1 while the agent finds this fault in itself, else 0.', {
    label: {
      name: 'sickness',
      values: {
        'network-down':
          'Its own network is down, or that of IPv4 or IPv6 alone: no reference answers and hardly any target does, or two targets within 10 s had no route or no name server. Look at the uplink, the gateway and the name servers of its machine.',
        starved:
          'It waits for a CPU. Its machine, or the quota of its cgroup, is too small for what runs there.',
      } satisfies Record<Sickness, string>,
    },
    advice: '1 for more than a minute: checks that the agent cannot judge are `not_run` meanwhile.',
  }),
};
