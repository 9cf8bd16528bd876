import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Refusal } from '@svc/shared/messages/heartbeat.ts';

/** Why a message on our subject was thrown away; `foreign-results`: it named a subject for results that is not our region's. */
export type DropReason = 'oversized' | 'not-json' | 'invalid' | 'foreign-results';

/** What the agent counts since its start. Plain numbers: they are on the path of every check. */
export type Metrics = {
  attempts: number;
  accepted: number;
  readonly results: { [O in Outcome]: number };
  readonly refused: { [R in Refusal]: number };
  readonly droppedMessages: { [D in DropReason]: number };
  droppedJobs: number;
  batchesSent: number;
  batchesAcknowledged: number;
  /** Sent again: no acknowledgement in time, or a new connection. */
  batchesResent: number;
  batchesRefused: number;
  /** Sent for the first time, and the stream took them for repetitions: somebody tampers with the region's stream. */
  batchesDisowned: number;
  /** Results lost because the outbox was full or the stream refused them for good. */
  resultsDropped: number;
};

export function createMetrics(): Metrics {
  return {
    attempts: 0,
    accepted: 0,
    results: { passed: 0, degraded: 0, failed: 0, not_run: 0 },
    refused: { held: 0, finished: 0, full: 0, draining: 0, invalid: 0 },
    droppedMessages: { oversized: 0, 'not-json': 0, invalid: 0, 'foreign-results': 0 },
    droppedJobs: 0,
    batchesSent: 0,
    batchesAcknowledged: 0,
    batchesResent: 0,
    batchesRefused: 0,
    batchesDisowned: 0,
    resultsDropped: 0,
  };
}

/** What the agent is doing at this moment. */
export type Gauges = { running: number; pending: number; held: number; outbox: number; isConnected: boolean };

/** Prometheus text format, version 0.0.4. */
export function renderMetrics(metrics: Metrics, gauges: Gauges): string {
  return [
    counter('attempts_total', 'Attempts begun.', metrics.attempts),
    counter('jobs_accepted_total', 'Jobs taken.', metrics.accepted),
    labelled('jobs_refused_total', 'Jobs not taken.', 'reason', metrics.refused),
    labelled('results_total', 'Checks ended.', 'outcome', metrics.results),
    labelled('messages_dropped_total', 'Messages that could not be read.', 'reason', metrics.droppedMessages),
    counter(
      'jobs_dropped_total',
      'Jobs inside readable messages that could not be read.',
      metrics.droppedJobs,
    ),
    counter('batches_sent_total', 'Batches of results sent, repetitions included.', metrics.batchesSent),
    counter(
      'batches_acknowledged_total',
      'Batches of results kept by the stream.',
      metrics.batchesAcknowledged,
    ),
    counter('batches_resent_total', 'Batches of results sent again.', metrics.batchesResent),
    counter(
      'batches_refused_total',
      'Batches of results the stream answered with an error.',
      metrics.batchesRefused,
    ),
    counter(
      'batches_disowned_total',
      'Batches of results that the stream took for repetitions when they were new; sent again.',
      metrics.batchesDisowned,
    ),
    counter('results_dropped_total', 'Results lost by a full outbox.', metrics.resultsDropped),
    gauge('attempts_running', 'Attempts in progress.', gauges.running),
    gauge('checks_pending', 'Checks waiting for a place or for their next attempt.', gauges.pending),
    gauge('jobs_held', 'Jobs taken whose result is not acknowledged.', gauges.held),
    gauge('outbox_batches', 'Batches of results not acknowledged.', gauges.outbox),
    gauge('connected', '1 while connected to NATS.', gauges.isConnected ? 1 : 0),
    gauge('resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss()),
    '',
  ].join('\n');
}

const counter = (name: string, help: string, value: number): string =>
  `${head(name, help, 'counter')}\nsvc_agent_${name} ${value}`;

const gauge = (name: string, help: string, value: number): string =>
  `${head(name, help, 'gauge')}\nsvc_agent_${name} ${value}`;

function labelled(name: string, help: string, label: string, values: { [key: string]: number }): string {
  const lines = Object.entries(values).map(([key, value]) => `svc_agent_${name}{${label}="${key}"} ${value}`);
  return [head(name, help, 'counter'), ...lines].join('\n');
}

const head = (name: string, help: string, type: string): string =>
  `# HELP svc_agent_${name} ${help}\n# TYPE svc_agent_${name} ${type}`;
