import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/pause.ts';
import { afterReading } from '../after-reading.ts';

/** A host outside the machine that answers while the network works. */
export type Reference = {
  /** Name for the log, which also identifies the reference: `10.0.0.1:53 (tcp)`. */
  readonly name: string;
  /** Resolves with whether the reference answered, whatever it said. Never rejects. */
  ask(signal: AbortSignal): Promise<boolean>;
};

/**
 * `answered`: some reference answered. `gone`: no counting reference answered. `none`: no reference counts,
 * so nothing can be said.
 */
export type ReferenceAnswer = 'answered' | 'gone' | 'none';

/** How long a reference counts after its last answer, ms. */
const COUNTS_MS = 3_600_000;
/** Interval at which references are asked in calm times, so that the answering ones are known, ms. */
const ASK_EVERY_MS = 60_000;
/** Interval while none answers, to see the network come back, ms. */
const ASK_GONE_EVERY_MS = 1_000;
/** Time for an answer, ms. A lost datagram or SYN is repeated within it. */
const ANSWER_WITHIN_MS = 2_000;
/** Shortest interval between rounds, however many failures ask, ms. */
const ROUND_EVERY_MS = 250;

export type ReferencesParts = {
  /** Called for each round, because gateways and name servers change. */
  readonly list: () => readonly Reference[];
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Asks all references in one round and remembers when each answered last.
 *
 * A caller gets the answer of a round that began after its call, because an answer from before a failure says
 * nothing about it. Failures that come together share a round.
 *
 *     none counts ── one answers ──▶ some count ── none answers any more ──▶ gone, for however long
 *         ▲                            ▲  │                                   │  │
 *         ├──── no answer for an hour ─┼──┘                                   │  │
 *         └──── they were wrong ───────┼──────────────────────────────────────┘  │
 *                                      └──────────── one answers ────────────────┘
 */
export class References {
  readonly #parts: ReferencesParts;
  /** Last answer by name of the reference, monotonic ms. */
  readonly #answeredAt = new Map<string, number>();
  #lastAnswerAt = Number.NEGATIVE_INFINITY;
  /** All references that count. One that is not listed any more, because its route is gone, is still asked. */
  readonly #known = new Map<string, Reference>();
  readonly #stopping = new AbortController();
  readonly #stops: (() => void)[] = [];
  #next: Promise<ReferenceAnswer> | null = null;
  #roundBeganAt = Number.NEGATIVE_INFINITY;
  #running: Promise<unknown> = Promise.resolve();
  #goneSince: number | null = null;
  #backAt = Number.NEGATIVE_INFINITY;

  constructor(parts: ReferencesParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock } = this.#parts;
    this.#stops.push(
      clock.every(ASK_EVERY_MS, () => void this.ask()),
      clock.every(ASK_GONE_EVERY_MS, () => {
        if (this.#goneSince !== null) void this.ask();
      }),
    );
    void this.ask();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const stop of this.#stops) stop();
    await this.#running;
  }

  /** Since when no reference answers, monotonic ms; null while one answers or none counts. */
  get goneSince(): number | null {
    return this.#goneSince;
  }

  /**
   * When a reference was first heard again after all had been gone, monotonic ms; negative infinity: never.
   */
  get backAt(): number {
    return this.#backAt;
  }

  /**
   * Whether some reference answered within the last hour, or all were found to be gone. It is cheap, because
   * every failure asks it.
   */
  get areKnown(): boolean {
    return this.#goneSince !== null || this.#parts.clock.monotonic() - this.#lastAnswerAt < COUNTS_MS;
  }

  /** Resolves with the result of the next round. */
  ask(): Promise<ReferenceAnswer> {
    this.#next ??= this.#startRound();
    return this.#next;
  }

  /**
   * Forgets all answers, after the references proved to say nothing about the network. None counts until it
   * answers again.
   */
  forget(): void {
    this.#answeredAt.clear();
    this.#lastAnswerAt = Number.NEGATIVE_INFINITY;
    this.#goneSince = null;
  }

  async #startRound(): Promise<ReferenceAnswer> {
    const { clock } = this.#parts;
    const waitMs = Math.max(0, this.#roundBeganAt + ROUND_EVERY_MS - clock.monotonic());
    // The function yields even when there is nothing to wait for, so that callers of this turn still join the
    // round.
    await (waitMs > 0 ? pause(this.#parts.clock, waitMs, this.#stopping.signal) : Promise.resolve());
    this.#next = null;
    this.#roundBeganAt = clock.monotonic();
    if (this.#stopping.signal.aborted) return 'none';
    const round = this.#round();
    this.#running = round;
    return await round;
  }

  async #round(): Promise<ReferenceAnswer> {
    const counting = this.#counting();
    for (const reference of this.#listed()) this.#known.set(reference.name, reference);
    const end = new AbortController();
    // An agent that was held up for this long has the answers in its sockets.
    const endRound = (): void => afterReading(() => end.abort());
    const cancel = this.#parts.clock.after(ANSWER_WITHIN_MS, endRound);
    const signal = AbortSignal.any([end.signal, this.#stopping.signal]);
    const asked = [...this.#known.values()].map((reference) => this.#askOne(reference, signal));
    // One answer is enough. The others are awaited only to note them.
    const isAnswered = await Promise.any(asked).then(
      () => true,
      () => false,
    );
    void Promise.allSettled(asked).then(cancel);
    if (isAnswered) {
      this.#found(null);
      return 'answered';
    }
    if (this.#stopping.signal.aborted) return 'none';
    // References that are gone stay gone even after an hour, so that a long outage of the network does not
    // become a verdict.
    if (counting.length === 0 && this.#goneSince === null) return 'none';
    this.#found(this.#parts.clock.monotonic(), counting);
    return 'gone';
  }

  /** Asks one reference; rejects when it does not answer. */
  async #askOne(reference: Reference, signal: AbortSignal): Promise<void> {
    if (!(await reference.ask(signal)))
      throw new SvcError('reference-silent', `${reference.name} does not answer`);
    this.#lastAnswerAt = this.#parts.clock.monotonic();
    this.#answeredAt.set(reference.name, this.#lastAnswerAt);
  }

  #found(goneAt: number | null, counting: readonly string[] = []): void {
    const { log } = this.#parts;
    if (goneAt !== null && this.#goneSince === null) {
      log.warn(
        { references: counting },
        'no reference host answers any more: the network of the agent may be down',
      );
    } else if (goneAt === null && this.#goneSince !== null) {
      this.#backAt = this.#parts.clock.monotonic();
      log.info({ event: 'recovered' }, 'reference hosts answer again');
    }
    this.#goneSince = goneAt === null ? null : (this.#goneSince ?? goneAt);
  }

  /** The listed references, or the known ones when no list can be made, because no descriptors are left. */
  #listed(): readonly Reference[] {
    try {
      return this.#parts.list();
    } catch (error) {
      this.#parts.log.debug({ error: messageOf(error) }, 'cannot look up the reference hosts');
      return [...this.#known.values()];
    }
  }

  /** Names of the references that answered within the hour. Others that are not listed are dropped. */
  #counting(): string[] {
    const oldest = this.#parts.clock.monotonic() - COUNTS_MS;
    const listed = new Set(this.#listed().map(({ name }) => name));
    const counting: string[] = [];
    for (const name of this.#known.keys()) {
      if ((this.#answeredAt.get(name) ?? Number.NEGATIVE_INFINITY) > oldest) counting.push(name);
      else if (!listed.has(name)) this.#known.delete(name);
    }
    return counting;
  }
}
