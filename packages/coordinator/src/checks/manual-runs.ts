import { randomUUID } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { MAX_AGENT_MESSAGE_BYTES, type RunOutcome, runOutcome } from '@svc/shared/messages/heartbeat.ts';
import { jobsSubject, MESSAGE_VERSION, runSubject } from '@svc/shared/messages/subjects.ts';
import type { Bus, BusMessage } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';

/**
 * Time that a region has for its answer in addition to the check's time-out, ms.
 * After this time the region counts as silent. An agent may need 2.25 s to find out
 * whether its own network is down, and the way to a region and back may take 2 s.
 */
const MARGIN_MS = 5_000;
/** Maximum number of runs at once; each may take the longest time-out (two minutes) and {@link MARGIN_MS}. */
const MAX_RUNS = 32;

export type RunNowResult = RunOutcome['result'];

/** The answer of a region. `agent` and `result` are null if the region did not answer. */
export type RegionAnswer = { region: Region; agent: string | null; result: RunNowResult | null };

/** The maximum number of checks that people start by request is already running. */
class TooManyRuns extends SvcError {
  readonly retryable = true;

  constructor() {
    super(
      'too-many-runs',
      `${MAX_RUNS} checks that people asked for are running, and no more can run at once: try again later`,
    );
  }
}

type Run = { answers: Map<Region, RegionAnswer>; waiting: Set<Region>; end: () => void };

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Runs checks that a person requests: one attempt per region. The outcomes are collected, but not recorded.
 */
export class ManualRuns {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #runs = new Map<string, Run>();
  #inbox = '';
  #stopListening: () => void = () => {};

  constructor({ bus, clock }: { bus: Bus; clock: Clock }) {
    this.#bus = bus;
    this.#clock = clock;
  }

  start(): void {
    this.#inbox = this.#bus.inbox();
    const subscription = this.#bus.subscribe(`${this.#inbox}.*.*`, (message) => {
      if (!message.isNoResponders) return;
      const [run, region] = message.subject.slice(this.#inbox.length + 1).split('.');
      if (run !== undefined && region !== undefined) this.#takeAnswer(run, region, null);
    });
    this.#stopListening = () => subscription.close();
  }

  /** Ends all runs. Regions that have not answered count as silent. */
  stop(): void {
    this.#stopListening();
    for (const run of this.#runs.values()) run.end();
  }

  /**
   * Runs the check in the regions. Resolves when every region has answered or has no agent, at the latest 5 s
   * after the time-out. The answers are in the order of `regions`.
   *
   * @param checkText JSON text of the check
   * @throws TooManyRuns
   * @throws BusDisconnected
   */
  async run(checkText: Secret, regions: readonly Region[], timeoutMs: number): Promise<RegionAnswer[]> {
    if (this.#runs.size >= MAX_RUNS) throw new TooManyRuns();
    // The id is random and not a counter, because an answer to a run from before a restart must not count for
    // another run.
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    const run: Run = { answers: new Map(), waiting: new Set(regions), end: resolve };
    this.#runs.set(id, run);
    const cancel = this.#clock.after(timeoutMs + MARGIN_MS, resolve);
    // Only the first message of each region is read.
    const subscriptions = regions.map((region) =>
      this.#bus.subscribe(runSubject(region, id), (message) => this.#answered(id, region, message), {
        max: 1,
      }),
    );
    try {
      const message = `{"v":${MESSAGE_VERSION},"kind":"run_now","run":"${id}","check":${checkText.reveal()}}`;
      for (const region of regions) {
        this.#bus.publish(jobsSubject(region), message, {
          reply: `${this.#inbox}.${id}.${region}`,
        });
      }
      if (regions.length > 0) await promise;
    } finally {
      cancel();
      for (const subscription of subscriptions) subscription.close();
      this.#runs.delete(id);
    }
    return regions.map((region) => run.answers.get(region) ?? { region, agent: null, result: null });
  }

  /** Handles a region's answer. An answer that is too large or cannot be parsed counts as silence. */
  #answered(id: string, region: Region, { data }: BusMessage): void {
    let answer: RegionAnswer | null = null;
    try {
      if (data.length <= MAX_AGENT_MESSAGE_BYTES) {
        const { agent, result } = runOutcome.parse(JSON.parse(utf8.decode(data)));
        answer = { region, agent, result };
      }
    } catch {
      // No real agent sends an answer that cannot be parsed, so nothing is logged.
    }
    this.#takeAnswer(id, region, answer);
  }

  #takeAnswer(id: string, region: Region, answer: RegionAnswer | null): void {
    const run = this.#runs.get(id);
    if (run === undefined || !run.waiting.delete(region)) return;
    if (answer !== null) run.answers.set(region, answer);
    if (run.waiting.size === 0) run.end();
  }
}
