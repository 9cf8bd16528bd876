import { counter, gauge } from './instrument.ts';
import { type Measurement, measurementsOf } from './measurement.ts';

/** The instruments of every svc process, under the names that Prometheus gives them. */
export const PROCESS_COUNTERS = {
  cpu: counter('process_cpu_seconds_total', 'CPU time of the process, all threads, user and system.', {
    unit: 'seconds',
  }),
};

export const PROCESS_GAUGES = {
  memory: gauge('process_resident_memory_bytes', 'Resident memory of the process.', { unit: 'bytes' }),
  startTime: gauge('process_start_time_seconds', 'When the process started, seconds since 1970 (UTC).', {
    unit: 'seconds',
  }),
};

export function processMeasurements(): Measurement[] {
  const startedAt = performance.timeOrigin;
  const { user, system } = process.cpuUsage();
  return [
    ...measurementsOf(PROCESS_COUNTERS, { cpu: (user + system) / 1_000_000 }, startedAt),
    ...measurementsOf(
      PROCESS_GAUGES,
      { memory: process.memoryUsage.rss(), startTime: startedAt / 1_000 },
      startedAt,
    ),
  ];
}
