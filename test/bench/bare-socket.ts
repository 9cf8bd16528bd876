import { setTimeout as delay } from 'node:timers/promises';
import type { Children } from './children.ts';
import { cpuMs } from './process-usage.ts';

/** A process's start and its first connections are not what is measured, ms. */
const WARM_UP_MS = 500;

/**
 * CPU of a bare socket per check, ms: the floor that budgets are ratios to. A process of its own opens
 * `rate` connections a second to the target.
 */
export async function bareSocketCpuMs(
  children: Children,
  load: { port: number; kind: 'http' | 'tcp'; rate: number; seconds: number },
): Promise<number> {
  const { port, kind, rate, seconds } = load;
  const args = [port, rate, seconds + 1, kind].map(String);
  const { pid } = await children.node('test/bench/bare-socket-process.ts', args);
  await delay(WARM_UP_MS);
  const before = cpuMs(pid);
  const startedAt = performance.now();
  await delay(seconds * 1_000 - WARM_UP_MS);
  return (cpuMs(pid) - before) / (((performance.now() - startedAt) / 1_000) * rate);
}
