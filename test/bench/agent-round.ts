/** One round of checks by a real agent, for the benchmarks of its CPU. */
import type { Check } from '@svc/shared/messages/check.ts';
import type { AgentLoad } from './agent-load.ts';
import { cpuMs } from './process-usage.ts';

/** Checks a second. */
export const RATE = 1_000;
export const ROUND_SECONDS = 4;
export const KINDS = ['http', 'tcp'] as const;
export type Kind = (typeof KINDS)[number];

const ATTEMPTS = { timeout: 5_000, retry: 0, degraded_at: 0 };

/** A check of a target at this port of the loopback address. */
export function checkOf(kind: Kind, port: number): Check {
  if (kind === 'tcp') return { type: 'tcp', uri: `127.0.0.1:${port}`, ...ATTEMPTS };
  return httpCheckOf(`http://127.0.0.1:${port}/`);
}

/** A check that accepts any answer with a successful status. */
export function httpCheckOf(url: string, timeout = ATTEMPTS.timeout): Check {
  return {
    type: 'http',
    url,
    method: 'GET',
    headers: [],
    body: '',
    follow_redirects: true,
    status_code_assertions: [],
    body_assertions: [],
    header_assertions: [],
    ...ATTEMPTS,
    timeout,
  };
}

/** A check that asks for the A record of a name. */
export function dnsCheckOf(name: string): Check {
  const assertion = { record: 'A', comparator: 'contains', target: '192.0.2.1' } as const;
  return { type: 'dns', uri: name, record_assertions: [assertion], ...ATTEMPTS };
}

/** Measures the CPU time of the agent per check over one round, ms. */
export async function agentRound(
  load: AgentLoad,
  check: Check,
  { rate, seconds } = { rate: RATE, seconds: ROUND_SECONDS },
): Promise<number> {
  const before = { cpu: cpuMs(load.agent.pid), results: load.results };
  await load.offer(check, rate, seconds);
  await load.untilAnswered();
  return (cpuMs(load.agent.pid) - before.cpu) / (load.results - before.results);
}

/** Waits until the checks that the round began have ended. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 500));
}
