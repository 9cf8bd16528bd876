import { setTimeout as delay } from 'node:timers/promises';
import type { Children } from './children.ts';
import { cpuMs } from './process-usage.ts';

/** Time after the start of the process that is not measured, because code is compiled in it, s. */
const WARM_UP_S = 2;
/** Time for which the process continues after the measurement, s. */
const MARGIN_S = 0.5;

/**
 * Measures the CPU time of a bare socket per check, ms. Budgets are given as ratios
 * to this time. A separate process opens `rate` connections a second to the target.
 */
export async function bareSocketCpuMs(
  children: Children,
  load: { port: number; kind: 'http' | 'tcp'; rate: number; seconds: number },
): Promise<number> {
  const { port, kind, rate, seconds } = load;
  const args = [port, rate, WARM_UP_S + seconds + MARGIN_S, kind].map(String);
  const { pid } = await children.node('test/bench/bare-socket-process.ts', args);
  await delay(WARM_UP_S * 1_000);
  const before = cpuMs(pid);
  const startedAt = performance.now();
  await delay(seconds * 1_000);
  return (cpuMs(pid) - before) / (((performance.now() - startedAt) / 1_000) * rate);
}
