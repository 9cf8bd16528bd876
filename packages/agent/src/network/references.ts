import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/pause.ts';
import { afterReading } from '../after-reading.ts';

/** Something outside the machine that answers while the network is there. */
export type Reference = {
  /** For the log, and to know it again: `10.0.0.1:53 (tcp)`. */
  readonly name: string;
  /** Resolves with whether it answered, whatever it said. Never rejects. */
  ask(signal: AbortSignal): Promise<boolean>;
};

/** `answered`: some reference did. `gone`: none did of those that count. `none`: none counts, so nothing can be said. */
export type ReferenceAnswer = 'answered' | 'gone' | 'none';

/** A reference counts for this long after its last answer. */
const COUNTS_MS = 3_600_000;
/** References are asked by themselves this often, so that those that answer are known, ms. */
const ASK_EVERY_MS = 60_000;
/** And this often while none answers, to see the network come back. */
const ASK_GONE_EVERY_MS = 1_000;
/** An answer must come within this time: a lost datagram or SYN is repeated by then. */
const ANSWER_WITHIN_MS = 2_000;
/** Rounds begin at most this often, however many failures ask. */
const ROUND_EVERY_MS = 250;

export type ReferencesOptions = {
  /** Looked up anew for each round: gateways and name servers change. */
  readonly list: () => readonly Reference[];
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Asks the references, all of them in one round, and remembers when each answered last.
 *
 * Who asks gets the answer of a round that began afterwards: an answer from before a failure says nothing
 * about it. Failures that come together share a round.
 *
 *     none counts ── one answers ──▶ some count ── none answers any more ──▶ gone, for however long
 *         ▲                            ▲  │                                   │  │
 *         ├──── none did for an hour ──┼──┘                                   │  │
 *         └──── they were wrong ───────┼──────────────────────────────────────┘  │
 *                                      └──────────── one answers ────────────────┘
 */
export class References {
  readonly #options: ReferencesOptions;
  /** By name. */
  readonly #answeredAt = new Map<string, number>();
  #lastAnswerAt = Number.NEGATIVE_INFINITY;
  /** All that counts: a reference that is not listed any more (its route is gone) is still asked. */
  readonly #known = new Map<string, Reference>();
  readonly #stopping = new AbortController();
  readonly #stops: (() => void)[] = [];
  #next: Promise<ReferenceAnswer> | null = null;
  #roundBeganAt = Number.NEGATIVE_INFINITY;
  #running: Promise<unknown> = Promise.resolve();
  #goneSince: number | null = null;
  #backAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReferencesOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock } = this.#options;
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

  /** Since when none answers any more, monotonic ms; null: one does, or none counts. */
  get goneSince(): number | null {
    return this.#goneSince;
  }

  /** When one was first heard again after all had been gone, monotonic ms; never: negative infinity. */
  get backAt(): number {
    return this.#backAt;
  }

  /** Some reference answered within the last hour, or was found to be gone. Cheap: asked for every failure. */
  get areKnown(): boolean {
    return this.#goneSince !== null || this.#options.clock.monotonic() - this.#lastAnswerAt < COUNTS_MS;
  }

  /** What the next round says. */
  ask(): Promise<ReferenceAnswer> {
    this.#next ??= this.#startRound();
    return this.#next;
  }

  /** They say nothing about the network, as it turned out: none counts until it answers again. */
  forget(): void {
    this.#answeredAt.clear();
    this.#lastAnswerAt = Number.NEGATIVE_INFINITY;
    this.#goneSince = null;
  }

  async #startRound(): Promise<ReferenceAnswer> {
    const { clock } = this.#options;
    const waitMs = Math.max(0, this.#roundBeganAt + ROUND_EVERY_MS - clock.monotonic());
    // Also where there is nothing to wait for: who asks in this turn still joins.
    await (waitMs > 0 ? pause(this.#options.clock, waitMs, this.#stopping.signal) : Promise.resolve());
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
    // An agent that was held up for so long has the answers in its sockets.
    const endRound = (): void => afterReading(() => end.abort());
    const cancel = this.#options.clock.after(ANSWER_WITHIN_MS, endRound);
    const signal = AbortSignal.any([end.signal, this.#stopping.signal]);
    const asked = [...this.#known.values()].map((reference) => this.#askOne(reference, signal));
    // One answer is enough; the others are waited for only to know them.
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
    // Those that are gone stay so for longer than an hour too: a network that was down does not become a verdict.
    if (counting.length === 0 && this.#goneSince === null) return 'none';
    this.#found(this.#options.clock.monotonic(), counting);
    return 'gone';
  }

  /** Rejects when it does not answer. */
  async #askOne(reference: Reference, signal: AbortSignal): Promise<void> {
    if (!(await reference.ask(signal)))
      throw new SvcError('reference-silent', `${reference.name} does not answer`);
    this.#lastAnswerAt = this.#options.clock.monotonic();
    this.#answeredAt.set(reference.name, this.#lastAnswerAt);
  }

  #found(goneAt: number | null, counting: readonly string[] = []): void {
    const { log } = this.#options;
    if (goneAt !== null && this.#goneSince === null) {
      log.warn({ references: counting }, 'none of the references answers any more');
    } else if (goneAt === null && this.#goneSince !== null) {
      this.#backAt = this.#options.clock.monotonic();
      log.info({ event: 'recovered' }, 'references answer again');
    }
    this.#goneSince = goneAt === null ? null : (this.#goneSince ?? goneAt);
  }

  /** Where no list can be made (no descriptors are left to look at the machine with), those of before. */
  #listed(): readonly Reference[] {
    try {
      return this.#options.list();
    } catch (error) {
      this.#options.log.debug({ error: messageOf(error) }, 'the references cannot be looked up');
      return [...this.#known.values()];
    }
  }

  /** Names of those that answered within the hour; others are not kept. */
  #counting(): string[] {
    const oldest = this.#options.clock.monotonic() - COUNTS_MS;
    const listed = new Set(this.#listed().map(({ name }) => name));
    const counting: string[] = [];
    for (const name of this.#known.keys()) {
      if ((this.#answeredAt.get(name) ?? Number.NEGATIVE_INFINITY) > oldest) counting.push(name);
      else if (!listed.has(name)) this.#known.delete(name);
    }
    return counting;
  }
}
