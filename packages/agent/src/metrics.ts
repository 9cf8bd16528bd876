import { AGENT_COUNTERS, AGENT_GAUGES } from '@svc/shared/metrics/agent-instruments.ts';
import type { LabelValue } from '@svc/shared/metrics/instrument.ts';
import { type Measurement, measurementsOf } from '@svc/shared/metrics/measurement.ts';
import { processMeasurements } from '@svc/shared/metrics/process-instruments.ts';
import { createTotals, type ValuesOf } from '@svc/shared/metrics/totals.ts';

/** What the agent counts since its start; what each number means is in `AGENT_COUNTERS`. */
export type Metrics = ValuesOf<typeof AGENT_COUNTERS>;

/** What the agent is doing at this moment. */
export type Gauges = ValuesOf<typeof AGENT_GAUGES>;

/** Why a message on our subject was thrown away. */
export type DropReason = LabelValue<typeof AGENT_COUNTERS.droppedMessages>;

export function createMetrics(): Metrics {
  return createTotals(AGENT_COUNTERS);
}

/**
 * Everything that an agent tells about itself.
 *
 * @param startedAt when `metrics` were made, epoch ms
 */
export function agentMeasurements(metrics: Metrics, gauges: Gauges, startedAt: number): Measurement[] {
  return [
    ...measurementsOf(AGENT_COUNTERS, metrics, startedAt),
    ...measurementsOf(AGENT_GAUGES, gauges, startedAt),
    ...processMeasurements(),
  ];
}
