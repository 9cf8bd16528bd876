import { AGENT_COUNTERS, AGENT_GAUGES } from '@svc/shared/metrics/agent-instruments.ts';
import type { LabelValue } from '@svc/shared/metrics/instrument.ts';
import { type ProcessFacts, processMeasurements } from '@svc/shared/metrics/process-instruments.ts';
import { createTotals, type Measurement, measurementsOf, type ValuesOf } from '@svc/shared/metrics/values.ts';

/** The counters of the agent since its start. `AGENT_COUNTERS` says what each number means. */
export type Metrics = ValuesOf<typeof AGENT_COUNTERS>;

/** The gauges of the agent at this moment. */
export type Gauges = ValuesOf<typeof AGENT_GAUGES>;

/** Why a message on the jobs subject was dropped. */
export type DropReason = LabelValue<typeof AGENT_COUNTERS.droppedMessages>;

export function createMetrics(): Metrics {
  return createTotals(AGENT_COUNTERS);
}

/**
 * All measurements that an agent reports about itself.
 *
 * @param startedAt when `metrics` was created, epoch ms
 */
export function agentMeasurements(
  metrics: Metrics,
  gauges: Gauges,
  process: Pick<ProcessFacts, 'version' | 'loopDelay'>,
  startedAt: number,
): Measurement[] {
  return [
    ...measurementsOf(AGENT_COUNTERS, metrics, startedAt),
    ...measurementsOf(AGENT_GAUGES, gauges, startedAt),
    ...processMeasurements({ role: 'agent', ...process, startedAt }),
  ];
}
