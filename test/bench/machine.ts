import { availableParallelism, cpus, loadavg } from 'node:os';

/** The facts about the machine on which figures depend, in one line. */
export function machine(...more: string[]): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  return [`${availableParallelism()} × ${model}`, `Node ${process.versions.node}`, ...more, load()].join(
    ', ',
  );
}

/** Load averages of the last minute and the last five minutes. They include the load of the benchmark. */
export function load(): string {
  const [one = 0, five = 0] = loadavg();
  return `load ${one.toFixed(1)} (1 min) ${five.toFixed(1)} (5 min)`;
}
