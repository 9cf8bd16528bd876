import { counter, gauge, histogram } from './instrument.ts';
import { Distribution, type Measurement, measurementsOf, seriesOf } from './values.ts';

/** The counters of each coordinator and agent, under the names that Prometheus gives them. */
export const PROCESS_COUNTERS = {
  cpu: counter('process_cpu_seconds_total', 'CPU time of the process, all threads, user and system.', {
    unit: 'seconds',
  }),
};

export const PROCESS_HISTOGRAMS = {
  loopDelay: histogram(
    'svc_event_loop_delay_seconds',
    'How late the event loop runs its timers, measured ten times a second. A longer standstill makes one value.',
    {
      unit: 'seconds',
      bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      advice:
        'Where values above 0.25 s are frequent, the process does not get enough CPU time: look at its machine, and at the quota of its cgroup.',
    },
  ),
};

export const PROCESS_GAUGES = {
  info: gauge('svc_info', 'Always 1. The labels say what the process is.', {
    openLabels: {
      role: '`coordinator` or `agent`.',
      version: 'The version of svc. A process has one.',
    },
  }),
  memory: gauge('process_resident_memory_bytes', 'Resident memory of the process.', { unit: 'bytes' }),
  startTime: gauge('process_start_time_seconds', 'When the process started, seconds since 1970 (UTC).', {
    unit: 'seconds',
  }),
};

export type ProcessFacts = {
  readonly role: 'coordinator' | 'agent';
  readonly version: string;
  /** Delay of the event loop, seconds. */
  readonly loopDelay: Distribution;
  /** When the measurement of the delay began, epoch ms. */
  readonly startedAt: number;
};

export function processMeasurements({ role, version, loopDelay, startedAt }: ProcessFacts): Measurement[] {
  const processStart = performance.timeOrigin;
  const { user, system } = process.cpuUsage();
  const gauges = {
    info: seriesOf(PROCESS_GAUGES.info, [[{ role, version }, 1]]),
    memory: process.memoryUsage.rss(),
    startTime: processStart / 1_000,
  };
  return [
    ...measurementsOf(PROCESS_COUNTERS, { cpu: (user + system) / 1_000_000 }, processStart),
    ...measurementsOf(PROCESS_HISTOGRAMS, { loopDelay }, startedAt),
    ...measurementsOf(PROCESS_GAUGES, gauges, processStart),
  ];
}

/** Interval between two measurements of the event loop's delay, ms. They take about 0.01 % of a CPU. */
const SAMPLE_MS = 100;

/**
 * Measures how late the event loop runs its timers. Ten times a second, a timer records its delay. A
 * standstill of any length gives one value.
 */
export class LoopDelay {
  /** The delays since the start, seconds. */
  readonly values = new Distribution(PROCESS_HISTOGRAMS.loopDelay.bounds);
  #timer: NodeJS.Timeout | null = null;
  #dueAt = 0;

  /** Starts to measure. The timer keeps no process alive. */
  start(): void {
    this.#dueAt = performance.now() + SAMPLE_MS;
    this.#timer ??= setInterval(() => this.#sample(), SAMPLE_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #sample(): void {
    const now = performance.now();
    this.values.record(Math.max(0, now - this.#dueAt) / 1_000);
    this.#dueAt = now + SAMPLE_MS;
  }
}
