import type { Check, DnsCheck, HttpCheck, TcpCheck } from '@svc/shared/messages/check.ts';
import type { Probe, ProbeContext, ProbeOutcome } from '../../packages/agent/src/probes/probe.ts';
import type { ProbeSet, Probes } from '../../packages/agent/src/probes/registry.ts';

export type ScriptedAttempt = {
  check: Check;
  context: ProbeContext;
  end(outcome: ProbeOutcome): void;
  reject(error: Error): void;
};

/**
 * A probe for every kind of check. The test decides when and how its
 * attempts end. Like real probes, it obeys the stop of the agent.
 */
export class ScriptedProbe implements Probe {
  /** Every attempt so far, in order of its start. */
  readonly attempts: ScriptedAttempt[] = [];
  readonly #obeysStop: boolean;
  readonly #waiting = new Set<{ count: number; resolve: () => void }>();

  constructor(options: { obeysStop: boolean } = { obeysStop: true }) {
    this.#obeysStop = options.obeysStop;
  }

  get set(): ProbeSet {
    const probes: Probes = { http: this, tcp: this, dns: this };
    return { probes, close: () => this.close() };
  }

  run(check: Check, context: ProbeContext): Promise<ProbeOutcome> {
    return new Promise((end, reject) => {
      if (this.#obeysStop) {
        context.signal.addEventListener('abort', () =>
          end(outcomeOf('not_run', { reason: 'shutting-down' })),
        );
      }
      this.attempts.push({ check, context, end, reject });
      for (const waiter of this.#waiting) if (this.attempts.length >= waiter.count) waiter.resolve();
    });
  }

  async close(): Promise<void> {}

  /** Resolves when `count` attempts have begun in all. */
  async begun(count: number): Promise<void> {
    if (this.attempts.length >= count) return;
    await new Promise<void>((resolve) => this.#waiting.add({ count, resolve }));
  }
}

export function outcomeOf(
  outcome: ProbeOutcome['outcome'],
  more: Partial<Omit<ProbeOutcome, 'outcome'>> = {},
): ProbeOutcome {
  return { outcome, latency: 10, phases: {}, ...more };
}

export const timedOut = (latency: number): ProbeOutcome =>
  outcomeOf('failed', { latency, timedOut: true, errorMessage: 'no answer in time' });

export function tcpCheck(more: Partial<TcpCheck> = {}): TcpCheck {
  return { type: 'tcp', uri: 'db.example.com:5432', timeout: 1_000, retry: 0, degraded_at: 0, ...more };
}

/** Makes a DNS check that asks for A records, and passes if none of them is this address. */
export function dnsCheck(more: Partial<DnsCheck> = {}): DnsCheck {
  const record_assertions = [{ record: 'A', comparator: 'neq', target: '192.0.2.1' } as const];
  return {
    type: 'dns',
    uri: 'example.com',
    record_assertions,
    timeout: 1_000,
    retry: 0,
    degraded_at: 0,
    ...more,
  };
}

export function httpCheck(url: string, more: Partial<HttpCheck> = {}): HttpCheck {
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
    timeout: 5_000,
    retry: 0,
    degraded_at: 0,
    ...more,
  };
}
