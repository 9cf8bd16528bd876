import type { NotRunReason } from '../messages/check-result.ts';
import type { Sickness } from '../messages/heartbeat.ts';
import { counter, gauge, histogram } from './instrument.ts';
import type { ValuesOf } from './values.ts';

const SICKNESSES = {
  'network-down': 'The agent has lost its own network.',
  starved: 'The agent waits for a CPU.',
} satisfies Record<Sickness, string>;

const ABSTENTIONS = {
  'no-agent': 'There was no connection to NATS while the check could begin.',
  'job-lost': 'The region was silent: the job was lost, or its agent is gone.',
  'internal-error': 'The job could not be published; the log has the reason.',
} satisfies { [R in NotRunReason]?: string };

/**
 * The counters of dispatch. The counters of a shard count from
 * the moment when the coordinator began to lead the shard.
 */
export const DISPATCH_COUNTERS = {
  slots: counter('svc_slots_total', 'Slots of monitors that fell due.', {
    label: {
      name: 'outcome',
      values: {
        dispatched: 'Regions were given a job, or one of them still runs its last one.',
        skipped: 'No region was given a job, because of overload.',
        'no-agent': 'No region of the monitor has a live agent.',
        missed: 'The slot passed during a standstill of the coordinator, or when its clock was set forward.',
      },
    },
    advice:
      'Where `skipped` grows, see `svc_overloads_total`. Where `no-agent` grows, a region that monitors declare has no agent: start one. Where `missed` grows, the coordinator stood still: look at its machine and at its clock.',
  }),
  jobsSkipped: counter('svc_jobs_skipped_total', 'Jobs that fell due in a region and were not given to it.', {
    label: {
      name: 'reason',
      values: {
        'predecessor-running': "The region still runs the job of the monitor's last slot.",
        'region-overloaded': 'The agents of the region cannot run all of its checks.',
        'recording-overloaded': 'Results come faster than they are recorded.',
        'scheduling-overloaded': 'The coordinator has more work than its process can do.',
      },
    },
    advice:
      'Where `predecessor-running` grows, checks take longer than their period: lower `timeout` or `retry`. For the others see `svc_overloads_total`.',
  }),
  overloads: counter(
    'svc_overloads_total',
    'Times that an overload began and slots were left out because of it.',
    {
      label: {
        name: 'cause',
        values: {
          region: 'The agents of a region have too much work: add agents there.',
          recording:
            'The recording is too slow: the coordinator needs a faster disk or CPU, or fewer checks.',
          scheduling: 'The scheduling is too slow: the coordinator needs a faster CPU, or fewer checks.',
        },
      },
      advice: 'Any growth: slots are left out. The log names the region, and every how many slots one runs.',
    },
  ),
  asked: counter('svc_jobs_sent_total', 'Jobs that were sent to a region.', {
    label: {
      name: 'time',
      values: {
        first: 'The region was asked for the first time.',
        again: 'The region was asked once more, because it was silent, or its agent gave the job back.',
      },
    },
  }),
  messages: counter('svc_job_messages_total', 'Messages in which jobs were published.'),
  abstained: counter('svc_jobs_abstained_total', 'Jobs that were given up: the region abstains.', {
    label: { name: 'reason', values: ABSTENTIONS },
    advice: 'Any steady growth: checks do not run. Look at the agents of the region, under `/v1/regions`.',
  }),
  jobsLost: counter(
    'svc_jobs_lost_total',
    'Jobs that their region did not answer. They are sent once more while half of the period is left.',
  ),
  resultDelay: histogram(
    'svc_result_delay_seconds',
    'How long after its slot a result came, less the time that its check took. Results wait up to 0.25 s to be sent together. Only checks count that did not fail, and whose region was asked once.',
    {
      unit: 'seconds',
      bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.35, 0.5, 1, 2.5, 5, 10],
      advice:
        'Where many are above 1 s, checks begin late or results come late: see `svc_agent_check_lateness_seconds` of the agents, `svc_event_loop_delay_seconds` and `svc_backlog_age_seconds`.',
    },
  ),
  agentsGone: counter('svc_agents_gone_total', 'Agents that missed three heartbeats.'),
  sicknesses: counter('svc_sicknesses_total', 'Times that an agent began to find a fault in itself.', {
    label: { name: 'sickness', values: SICKNESSES },
  }),
  regionsLost: counter(
    'svc_regions_lost_total',
    'Times that a region that monitors declare lost its last agent, or had none at the start.',
    { advice: 'Any growth: start an agent in the region that the log names.' },
  ),
  messagesDropped: counter(
    'svc_agent_subject_messages_dropped_total',
    "Messages on the agents' subjects that could not be read.",
    { advice: "Any growth: a client that is no agent publishes there. Check who has the region's key." },
  ),
  heartbeatsDropped: counter(
    'svc_heartbeats_dropped_total',
    'Messages of agents beyond the number of agents that a region may have.',
    { advice: 'Any growth: agents of the region take a new id at each start, or too many run there.' },
  ),
  sharedAgentIds: counter('svc_shared_agent_ids_total', 'Ids that two agents of a region share.', {
    advice: 'Any growth: give each agent its own `SVC_AGENT_ID`. The log names the id.',
  }),
  batchesDisowned: counter(
    'svc_batches_disowned_total',
    'Batches of results that streams took for repeats although they were new, as the agents say.',
    {
      advice:
        "Any growth: a client with the region's key tampers with its stream. Give the region a new key.",
    },
  ),
  ticksLate: counter(
    'svc_dispatch_ticks_late_total',
    'Ticks of dispatch that came so late that they did not judge whether agents are silent.',
    { advice: 'Steady growth: the process does not get enough CPU time.' },
  ),
};

const REGION = {
  region:
    "Regions that monitors declare or that have an agent; there are 28 regions, and up to 100 of one's own.",
};

/** Counts of dispatch for one shard, from the moment when the coordinator began to lead it. */
export type DispatchCounters = ValuesOf<typeof DISPATCH_COUNTERS>;

/** The gauges of dispatch. They are measured when they are read. */
export const DISPATCH_GAUGES = {
  jobsInFlight: gauge('svc_jobs_in_flight', 'Jobs that were given to a region and are not reported yet.'),
  agents: gauge('svc_agents', 'Agents of the region that take jobs.', {
    openLabels: REGION,
    advice: '0: monitors declare the region, and no agent runs there. Start one.',
  }),
  agentsCapacity: gauge('svc_agents_capacity', 'Attempts that the agents of the region can run at once.', {
    openLabels: REGION,
  }),
  agentsHeld: gauge('svc_agents_jobs_held', 'Jobs that the agents of the region hold.', {
    openLabels: REGION,
    advice: 'Near `svc_agents_capacity`: add agents in the region.',
  }),
  agentsLoopDelay: gauge(
    'svc_agents_loop_delay_seconds',
    'The largest delay of an event loop that an agent of the region reported in its last heartbeat.',
    { unit: 'seconds', openLabels: REGION },
  ),
  agentsClockOffset: gauge(
    'svc_agents_clock_offset_seconds',
    'The largest difference of a clock in the region from that of the coordinator, the travel time included. It is above 0 in either direction.',
    {
      unit: 'seconds',
      openLabels: REGION,
      advice: 'Above 5: set the clock of the agent by NTP. `/v1/regions` names the agent.',
    },
  ),
  agentsSick: gauge('svc_agents_sick', 'Agents that find this fault in themselves.', {
    label: { name: 'sickness', values: SICKNESSES },
    advice: 'Above 0 for more than a minute: `/v1/regions` and the log name the agents.',
  }),
};
