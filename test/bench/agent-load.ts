import { randomUUID } from 'node:crypto';
import type { Check } from '@svc/shared/messages/check.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import {
  ALL_HEARTBEATS,
  jobsSubject,
  MESSAGE_VERSION,
  resultsSubject,
} from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import { startNatsServer } from '../support/nats-server.ts';
import { Program } from '../support/process.ts';
import { RegionStream } from '../support/region-stream.ts';

const REGION = 'hosta-fra';
const JOBS_PER_MESSAGE = 50;

export type AgentResult = Pick<CheckResult, 'monitor' | 'outcome' | 'reason' | 'latency' | 'timed_out'>;

/** A real agent with a real NATS server. This process acts as the coordinator. */
export class AgentLoad {
  readonly agent: Program;
  readonly #bus: NatsBus;
  readonly #dispose: () => Promise<void>;
  #slot = 1;
  #offered = 0;
  #results = 0;
  /** Called with every result. */
  onResult: (result: AgentResult) => void = () => {};
  readonly #outcomes = new Map<string, number>();

  private constructor(agent: Program, bus: NatsBus, dispose: () => Promise<void>) {
    this.agent = agent;
    this.#bus = bus;
    this.#dispose = dispose;
    bus.subscribe(resultsSubject(REGION), (message) => {
      const batch = JSON.parse(Buffer.from(message.data).toString()) as { results: AgentResult[] };
      this.#results += batch.results.length;
      for (const result of batch.results) {
        this.#outcomes.set(result.outcome, (this.#outcomes.get(result.outcome) ?? 0) + 1);
        this.onResult(result);
      }
    });
    bus.subscribe(ALL_HEARTBEATS, () => {});
  }

  /**
   * Starts the agent and NATS.
   *
   * @param root the checkout whose agent is started; undefined: this checkout
   * @param environment further settings of the agent
   */
  static async start(
    flags: readonly string[],
    root?: string,
    environment: Record<string, string> = {},
  ): Promise<AgentLoad> {
    const server = await startNatsServer();
    const bus = await connectBus({ url: server.url, name: 'bench', log: pino({ level: 'silent' }) });
    await new RegionStream(bus, REGION).ensure({ maxBytes: 256 * 1024 ** 2 });
    const agent = new Program(
      'packages/agent/src/main.ts',
      { SVC_NATS_URL: server.url, SVC_REGION: REGION, SVC_LOG_LEVEL: 'info', ...environment },
      flags,
      root,
    );
    await agent.start();
    return new AgentLoad(agent, bus, async () => {
      await agent.end('SIGTERM');
      await bus.close();
      await server.dispose();
    });
  }

  get results(): number {
    return this.#results;
  }

  /** Number of results so far, by outcome. */
  get outcomes(): ReadonlyMap<string, number> {
    return this.#outcomes;
  }

  /**
   * Publishes jobs at a steady rate. Resolves after the last job was published.
   *
   * @param firstMonitor id of the first of the 50 monitors to which the jobs belong
   */
  async offer(check: Check, rate: number, seconds: number, firstMonitor = 1): Promise<void> {
    const intervalMs = (JOBS_PER_MESSAGE / rate) * 1_000;
    const total = Math.ceil((rate * seconds) / JOBS_PER_MESSAGE);
    const start = performance.now();
    for (let sent = 0; sent < total; ) {
      const due = Math.min(total, Math.floor((performance.now() - start) / intervalMs) + 1);
      for (; sent < due; sent += 1) this.#publish(check, firstMonitor);
      await new Promise((resolve) => setTimeout(resolve, Math.min(20, intervalMs)));
    }
  }

  /** Resolves when every job so far has its result, or after 40 s. */
  async untilAnswered(): Promise<void> {
    const endsAt = performance.now() + 40_000;
    while (this.#results < this.#offered && performance.now() < endsAt)
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  #publish(check: Check, firstMonitor: number): void {
    this.#slot += 1;
    this.#offered += JOBS_PER_MESSAGE;
    const jobs = Array.from({ length: JOBS_PER_MESSAGE }, (_, index) => ({
      monitor: firstMonitor + index,
      version: 1,
      slot: this.#slot,
      token: 'bench',
      start_within_ms: 10_000,
      check,
    }));
    this.#bus.publish(
      jobsSubject(REGION),
      JSON.stringify({
        v: MESSAGE_VERSION,
        kind: 'jobs',
        batch: randomUUID(),
        jobs,
        results: resultsSubject(REGION),
      }),
    );
  }

  stop(): Promise<void> {
    return this.#dispose();
  }
}
