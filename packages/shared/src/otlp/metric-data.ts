/**
 * The parts of OpenTelemetry's data model of metrics that svc uses, and the encodings
 * of the exports of monitors. svc's own metrics are built from this model too, but
 * OpenTelemetry's exporters encode them (`own-metrics/reader.ts`). Import this module
 * only when it is needed: its packages take memory that most processes do not need.
 */
import type { HrTime } from '@opentelemetry/api';

export { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
export { JsonMetricsSerializer, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
export { resourceFromAttributes } from '@opentelemetry/resources';
export {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';

/** Name of the instrumentation scope of everything that svc exports. */
export const SCOPE_NAME = 'svc';

/** Converts an instant to seconds and nanoseconds. */
export function hrTime(epochMs: number): HrTime {
  const seconds = Math.floor(epochMs / 1_000);
  return [seconds, Math.round((epochMs - seconds * 1_000) * 1_000) * 1_000];
}
