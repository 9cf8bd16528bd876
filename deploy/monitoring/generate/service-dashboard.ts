import type { Dashboard, Panel, PanelUnit, Query, Row } from './dashboard.ts';

/** Adds the region to an agent's metric; the agent exports its region once, in `svc_agent_info`. */
function withRegion(expr: string): string {
  return `${expr} * on (job, instance) group_left (region) svc_agent_info{region=~"$region"}`;
}

function rate(metric: string): string {
  return `rate(${metric}[$__rate_interval])`;
}

function quantile(part: number, histogram: string, by = 'le'): string {
  return `histogram_quantile(${part}, sum by (${by}) (${rate(`${histogram}_bucket`)}))`;
}

function stat(
  title: string,
  description: string,
  unit: PanelUnit,
  expr: string,
  red: Partial<Panel> = {},
): Panel {
  return { title, description, type: 'stat', unit, queries: [{ expr, legend: '' }], ...red };
}

function chart(title: string, description: string, unit: PanelUnit, ...queries: Query[]): Panel {
  return { title, description, type: 'timeseries', unit, queries };
}

function query(expr: string, legend: string): Query {
  return { expr, legend };
}

const OVERVIEW: Row = {
  title: 'Overview',
  panels: [
    stat('Leads', 'A coordinator leads. Without one nothing is checked.', 'bool_yes_no', 'max(svc_leading)', {
      redBelow: 1,
    }),
    stat('NATS', 'The coordinator is connected to NATS.', 'bool_yes_no', 'min(svc_nats_connected)', {
      redBelow: 1,
    }),
    stat('Database', 'The database accepts writes.', 'bool_yes_no', 'min(svc_database_accepts_writes)', {
      redBelow: 1,
    }),
    stat(
      'Regions without agent',
      'Regions that monitors declare and in which no agent takes jobs.',
      'short',
      'count(svc_agents == 0) or vector(0)',
      { redFrom: 1 },
    ),
    stat('Oldest result', 'How long results wait to be recorded.', 's', 'max(svc_backlog_age_seconds)', {
      redFrom: 60,
    }),
    stat('Oldest alert', 'How long alerts wait to be delivered.', 's', 'max(svc_delivery_age_seconds)', {
      redFrom: 300,
    }),
    chart(
      'Monitors by status',
      'If many become unknown at once, too few regions report.',
      'short',
      query('sum by (status) (svc_monitors)', '{{status}}'),
    ),
    chart(
      'Checks recorded',
      'Recorded results; each is a check of one region.',
      'ops',
      query(`sum(${rate('svc_results_total{novelty="new"}')})`, 'results per second'),
    ),
    chart(
      'Versions',
      'Processes by role and version; two versions while an upgrade is under way.',
      'short',
      query('count by (role, version) (svc_info)', '{{role}} {{version}}'),
    ),
  ],
};

const COORDINATOR: Row = {
  title: 'Coordinator',
  panels: [
    chart(
      'Slots',
      'Due slots by outcome. All but `dispatched` should be 0.',
      'ops',
      query(`sum by (outcome) (${rate('svc_slots_total')})`, '{{outcome}}'),
    ),
    chart(
      'Jobs skipped and not run',
      'Reasons why regions got no job, or abstained. All should be 0.',
      'ops',
      query(`sum by (reason) (${rate('svc_jobs_skipped_total')})`, 'skipped: {{reason}}'),
      query(`sum by (reason) (${rate('svc_jobs_abstained_total')})`, 'not run: {{reason}}'),
    ),
    chart(
      'Jobs in flight',
      'Jobs that regions have and did not report yet. Slow targets raise it.',
      'short',
      query('sum(svc_jobs_in_flight)', 'in flight'),
    ),
    chart(
      'Delay of results',
      'From the slot to the result, less the check. Results wait up to 0.25 s for others.',
      's',
      query(quantile(0.5, 'svc_result_delay_seconds'), 'median'),
      query(quantile(0.99, 'svc_result_delay_seconds'), '99th percentile'),
    ),
    chart(
      'Event loop delay',
      'The 99th percentile of how late timers run. Above 0.25 s a process has too little CPU.',
      's',
      query(quantile(0.99, 'svc_event_loop_delay_seconds', 'instance, le'), '{{instance}}'),
    ),
    chart(
      'CPU',
      'CPU time of each process. A coordinator cannot use more than about two.',
      'short',
      query(
        `${rate('process_cpu_seconds_total')} * on (job, instance) group_left (role) svc_info`,
        '{{role}} {{instance}}',
      ),
    ),
    chart(
      'Memory',
      'Resident memory of each process.',
      'bytes',
      query(
        'process_resident_memory_bytes * on (job, instance) group_left (role) svc_info',
        '{{role}} {{instance}}',
      ),
    ),
    chart(
      'API requests',
      'Answers by endpoint and status.',
      'reqps',
      query(
        `sum by (method, route, status) (${rate('svc_api_requests_total')})`,
        '{{method}} {{route}} {{status}}',
      ),
    ),
    chart(
      'API durations',
      'How long answers of the API took.',
      's',
      query(quantile(0.5, 'svc_api_request_duration_seconds'), 'median'),
      query(quantile(0.99, 'svc_api_request_duration_seconds'), '99th percentile'),
    ),
  ],
};

const AGENTS: Row = {
  title: 'Agents by region',
  panels: [
    chart(
      'Agents',
      'Agents that take jobs, by their heartbeats. 0: the region abstains.',
      'short',
      query('svc_agents{region=~"$region"}', '{{region}}'),
    ),
    chart(
      'Load',
      'Jobs that agents hold, as a part of what they can run at once. Near 100 %: add agents.',
      'percentunit',
      query('svc_agents_jobs_held{region=~"$region"} / svc_agents_capacity', '{{region}}'),
    ),
    chart(
      'Results',
      'Checks that have ended, by region and outcome. `not_run` says nothing about targets and should be 0.',
      'ops',
      query(
        `sum by (region, outcome) (${withRegion(rate('svc_agent_results_total'))})`,
        '{{region}} {{outcome}}',
      ),
    ),
    chart(
      'Lateness of checks',
      'The 99th percentile of how late first attempts begin. Above 0.25 s an agent has too much work.',
      's',
      query(
        `histogram_quantile(0.99, sum by (region, le) (${withRegion(rate('svc_agent_check_lateness_seconds_bucket'))}))`,
        '{{region}}',
      ),
    ),
    chart(
      'Attempts and waiting checks',
      'Attempts in progress, and checks that wait for their slot, a place or their next attempt.',
      'short',
      query(`sum by (region) (${withRegion('svc_agent_attempts_running')})`, '{{region}} running'),
      query(`sum by (region) (${withRegion('svc_agent_checks_pending')})`, '{{region}} waiting'),
    ),
    chart(
      'Refused jobs',
      'Reasons why agents did not take jobs. If `full` grows, add agents.',
      'ops',
      query(
        `sum by (region, reason) (${withRegion(rate('svc_agent_jobs_refused_total'))})`,
        '{{region}} {{reason}}',
      ),
    ),
    chart(
      'Sick agents',
      'Agents with a fault of their own machine. Checks that they cannot judge are not run.',
      'short',
      query('sum by (sickness) (svc_agents_sick)', '{{sickness}}'),
    ),
    chart(
      'Losses',
      'Agents that missed three heartbeats, regions that lost their last agent, jobs that vanished with an agent, and ids that two agents share.',
      'ops',
      query(`sum(${rate('svc_agents_gone_total')})`, 'agents gone'),
      query(`sum(${rate('svc_regions_lost_total')})`, 'regions lost'),
      query(`sum(${rate('svc_jobs_lost_total')})`, 'jobs lost'),
      query(`sum(${rate('svc_shared_agent_ids_total')})`, 'shared ids'),
    ),
    chart(
      'Event loop delay and clocks',
      'As agents report it with their heartbeats, the worst of each region.',
      's',
      query('svc_agents_loop_delay_seconds{region=~"$region"}', '{{region}} loop delay'),
      query('svc_agents_clock_offset_seconds{region=~"$region"}', '{{region}} clock'),
    ),
    chart(
      'Results waiting in agents',
      'How long the oldest batch waits for NATS. Above a minute, NATS does not accept results.',
      's',
      query(`max by (region) (${withRegion('svc_agent_outbox_age_seconds')})`, '{{region}}'),
    ),
  ],
};

const RECORDING: Row = {
  title: 'Recording and database',
  panels: [
    chart(
      'Backlog',
      'How long results wait to be recorded, and complete hours of them to be rolled up.',
      's',
      query('max(svc_backlog_age_seconds)', 'to be recorded'),
      query('max(svc_rollups_behind_seconds)', 'to be rolled up'),
    ),
    chart(
      'Transactions',
      'Failed transactions are tried again, and nothing is lost.',
      'ops',
      query(`sum by (outcome) (${rate('svc_record_transactions_total')})`, '{{outcome}}'),
    ),
    chart(
      'Duration of transactions',
      'From the request to the commit. Above 0.25 s the disk is too slow.',
      's',
      query(quantile(0.5, 'svc_record_transaction_duration_seconds'), 'median'),
      query(quantile(0.99, 'svc_record_transaction_duration_seconds'), '99th percentile'),
    ),
    chart(
      'Database files',
      'The journal grows beyond 64 MiB while a program reads for long.',
      'bytes',
      query('svc_database_bytes', 'database {{instance}}'),
      query('svc_database_journal_bytes', 'journal {{instance}}'),
    ),
    chart(
      'Disk',
      "Space that is left on the database's disk.",
      'bytes',
      query('svc_database_free_bytes', '{{instance}}'),
    ),
    chart(
      'Dropped',
      'Results and messages that were not recorded. All should be 0.',
      'ops',
      query(`sum by (reason) (${rate('svc_results_dropped_total')})`, 'results: {{reason}}'),
      query(`sum by (reason) (${rate('svc_result_messages_dropped_total')})`, 'messages: {{reason}}'),
      query(`sum by (reason) (${rate('svc_recorder_events_dropped_total')})`, 'events: {{reason}}'),
    ),
  ],
};

const NATS: Row = {
  title: 'NATS',
  panels: [
    chart(
      'Connections',
      '1 while connected. Every process connects again by itself.',
      'short',
      query('svc_nats_connected', 'coordinator {{instance}}'),
      query('svc_agent_nats_connected', 'agent {{instance}}'),
    ),
    chart(
      'Lost connections',
      'Times per second that a connection was lost.',
      'ops',
      query(`sum(${rate('svc_nats_disconnects_total')})`, 'coordinator'),
      query(`sum by (region) (${withRegion(rate('svc_agent_nats_disconnects_total'))})`, 'agents {{region}}'),
    ),
    chart(
      'Streams of results',
      'Size of each stream as a part of its limit. Above 80 %, results are about to be lost.',
      'percentunit',
      query('svc_stream_bytes / svc_stream_limit_bytes', '{{region}}'),
    ),
    chart(
      'Batches of results',
      'Sent, acknowledged and sent again by agents; read by the coordinator.',
      'ops',
      query(`sum(${rate('svc_agent_batches_sent_total')})`, 'sent'),
      query(`sum(${rate('svc_agent_batches_acknowledged_total')})`, 'acknowledged'),
      query(`sum(${rate('svc_agent_batches_resent_total')})`, 'sent again'),
      query(`sum(${rate('svc_result_batches_total')})`, 'read'),
    ),
    chart(
      'Jobs',
      'Dispatched jobs. A job is repeated when its region stays silent or its agent is lost.',
      'ops',
      query(`sum by (time) (${rate('svc_jobs_sent_total')})`, '{{time}}'),
    ),
    chart(
      'Foreign messages',
      'Messages that are not from svc. If there are any, somebody has the key of a region, or versions are far apart.',
      'ops',
      query(`sum(${rate('svc_agent_subject_messages_dropped_total')})`, "on agents' subjects"),
      query(`sum(${rate('svc_batches_disowned_total')})`, 'disowned batches'),
    ),
  ],
};

const DELIVERIES: Row = {
  title: 'Deliveries of alerts',
  panels: [
    chart(
      'Attempts',
      'Attempts to deliver alerts by outcome.',
      'ops',
      query(`sum by (outcome) (${rate('svc_delivery_attempts_total')})`, '{{outcome}}'),
    ),
    chart(
      'Failures',
      'Failed attempts by reason. `operator` and `own` concern the operator of svc, the others the owner of the channel.',
      'ops',
      query(`sum by (reason) (${rate('svc_delivery_failures_total')})`, '{{reason}}'),
    ),
    chart(
      'Waiting and given up',
      'Pairs of monitor and channel that wait, and alerts that were given up.',
      'short',
      query('sum(svc_delivery_lanes)', 'waiting'),
      query('sum(svc_deliveries_dead_total)', 'given up'),
      query('sum(svc_deliveries_sending)', 'being sent'),
      query('sum(svc_delivery_channels_overdue)', 'channels with an alert of two minutes or more'),
    ),
    chart(
      'Duration of attempts',
      'How long receivers take to answer.',
      's',
      query(quantile(0.5, 'svc_delivery_attempt_duration_seconds'), 'median'),
      query(quantile(0.95, 'svc_delivery_attempt_duration_seconds'), '95th percentile'),
    ),
  ],
};

const EXPORT: Row = {
  title: 'Export of the metrics of monitors',
  panels: [
    chart(
      'Points',
      'Points by outcome.',
      'ops',
      query(`sum by (outcome) (${rate('svc_otlp_points_total')})`, '{{outcome}}'),
    ),
    chart(
      'Endpoints',
      'Endpoints by whether they accepted the last request.',
      'short',
      query('sum by (state) (svc_otlp_endpoints)', '{{state}}'),
    ),
    chart(
      'Buffer',
      'Requests that endpoints have not accepted yet.',
      'bytes',
      query('sum(svc_otlp_buffered_bytes)', 'buffered'),
    ),
  ],
};

/** The service itself, from `/metrics` or from the export of own metrics. */
export const SERVICE_DASHBOARD: Dashboard = {
  uid: 'svc-service',
  title: 'svc: the service',
  description: 'Coordinator, agents by region, recording, NATS and deliveries of svc itself.',
  variables: [{ name: 'region', label: 'Region', query: 'label_values(svc_agents, region)' }],
  rows: [OVERVIEW, COORDINATOR, AGENTS, RECORDING, NATS, DELIVERIES, EXPORT],
};
