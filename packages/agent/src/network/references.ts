import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/waiting.ts';
import { afterReading } from '../deadline.ts';
import { BOTH_FAMILIES, type Families, type Family, NO_FAMILY } from './families.ts';

/** A host outside this machine that answers while the network works. */
export type Reference = {
  /** Name for the log: `10.0.0.1:53 (tcp)`. It also identifies the reference. */
  readonly name: string;
  /**
   * Asks the host. Calls `heard` with the address family of each answer, whatever the answer says; null when
   * the family is not known. Resolves when no further answer can come, or `signal` aborts. Never rejects.
   */
  askReference(signal: AbortSignal, heard: (family: Family | null) => void): Promise<void>;
};

/**
 * Result of a round. `answered`: a reference answered. `gone`: no reference answered, but one had
 * answered within the hour before the silence began, however long ago that was. `none`: no reference
 * answered, and none is known to have worked, or the agent is stopping, so the round says nothing.
 */
export type ReferenceAnswer = 'answered' | 'gone' | 'none';

/** Names the references of one address family, or all references. */
type Scope = Family | 'all';

const SCOPES: readonly Scope[] = ['all', 4, 6];

/** The results of one round. Each scope gets its result at its own time. */
type Round = Readonly<Record<Scope, Promise<ReferenceAnswer>>>;

/** Interval between rounds while nothing fails, ms. These rounds show which references answer. */
const ASK_EVERY_MS = 60_000;
/** Interval between rounds while references are gone, ms. These rounds show when the network is back. */
const ASK_GONE_EVERY_MS = 1_000;
/**
 * Time after the start in which references are asked every second until
 * one has answered, ms. The name of the NATS server may be resolved late.
 */
const BEGINNING_MS = 10_000;
/** Time after which a family that is gone no longer causes rounds at the short interval, ms. */
const LATELY_MS = 3_600_000;
/** Maximum time that a reference has for its answer, ms. It is enough to repeat a lost datagram or SYN. */
const ANSWER_WITHIN_MS = 2_000;
/** Minimum interval between rounds, ms, however many failures ask for a round. */
const ROUND_EVERY_MS = 250;

type ReferencesParts = {
  /** Returns the listed references. It is called for each round, because gateways and name servers change. */
  readonly list: () => readonly Reference[];
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Asks all references in one round and remembers when each answered last.
 *
 * A caller gets the result of a round that began after its call, because an answer from before
 * a failure says nothing about that failure. Failures that come together share a round.
 *
 * IPv4 and IPv6 fail independently, so each family is judged by the references that answered
 * over it ({@link Reach}). A family over which no reference is known to have worked is judged
 * by all references together. Several families together are gone when each of them is gone.
 */
export class References {
  readonly #parts: ReferencesParts;
  readonly #reach: Readonly<Record<Scope, Reach>> = { all: new Reach(), 4: new Reach(), 6: new Reach() };
  /**
   * The references that each round asks: the listed references, and those that answered within
   * the last hour but are no longer listed, for example because their route is gone.
   */
  readonly #known = new Map<string, Reference>();
  readonly #stopping = new AbortController();
  readonly #stops: (() => void)[] = [];
  /** The scopes whose loss was logged, until they answer again or are forgotten. */
  readonly #loggedLosses = new Set<Scope>();
  #next: Promise<Round> | null = null;
  #startedAt = Number.NEGATIVE_INFINITY;
  #roundBeganAt = Number.NEGATIVE_INFINITY;
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: ReferencesParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock } = this.#parts;
    this.#startedAt = clock.monotonic();
    this.#stops.push(
      clock.every(ASK_EVERY_MS, () => void this.askReferences(NO_FAMILY)),
      clock.every(ASK_GONE_EVERY_MS, () => {
        if (this.#isReturnAwaited || this.#isBeginning) void this.askReferences(NO_FAMILY);
      }),
    );
    void this.askReferences(NO_FAMILY);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const stop of this.#stops) stop();
    await this.#running;
  }

  /** Whether all references, or all references of one family, are gone. */
  get areSomeGone(): boolean {
    return SCOPES.some((scope) => this.#reach[scope].goneSince !== null);
  }

  /**
   * Since when all references of these families are gone, monotonic ms. Null while those of one of
   * the families are not gone. All references together stand for a family over which none is known
   * to have worked.
   *
   * @param families the families of a target; empty: they are not known, so all references count
   */
  goneSince(families: Families): number | null {
    let latest = Number.NEGATIVE_INFINITY;
    for (const { goneSince } of this.#reachOf(families)) {
      if (goneSince === null) return null;
      latest = Math.max(latest, goneSince);
    }
    return latest;
  }

  /**
   * When references of these families last came back after all had been gone, monotonic ms; negative
   * infinity: never. Of several families, the one that came back earliest counts.
   */
  backAt(families: Families): number {
    return Math.min(...this.#reachOf(families).map(({ backAt }) => backAt));
  }

  /**
   * Whether some reference answered within the last hour, or all references were
   * found to be gone. The getter must be cheap, because every failure reads it.
   */
  get areKnown(): boolean {
    return this.#reach.all.isKnown(this.#parts.clock.monotonic());
  }

  /** Resolves with the result of the next round for these families. */
  async askReferences(families: Families): Promise<ReferenceAnswer> {
    this.#next ??= this.#startRound();
    const round = await this.#next;
    return await joined(this.#scopesOf(families).map((scope) => round[scope]));
  }

  /**
   * Forgets all answers over these families, because the references have proved
   * to say nothing about the network. A reference counts again only when it
   * answers again. When the families are not known, all answers are forgotten.
   */
  forgetAnswers(families: Families): void {
    const { all, 4: four, 6: six } = this.#reach;
    const forgotten = families.length === 0 ? BOTH_FAMILIES : families;
    for (const scope of ['all', ...forgotten] as const) {
      this.#reach[scope].forgetAnswers();
      this.#loggedLosses.delete(scope);
    }
    all.copyAnswersOf(four);
    all.copyAnswersOf(six);
  }

  get #isBeginning(): boolean {
    return !this.areKnown && this.#parts.clock.monotonic() - this.#startedAt <= BEGINNING_MS;
  }

  /**
   * Whether rounds follow at the short interval, to show when the references return: all
   * references are gone, or those of one family have been gone for less than
   * {@link LATELY_MS}. Later, one family may be gone for good while the other family works.
   */
  get #isReturnAwaited(): boolean {
    const now = this.#parts.clock.monotonic();
    const { all, 4: four, 6: six } = this.#reach;
    const isLately = ({ goneSince }: Reach): boolean => goneSince !== null && now - goneSince < LATELY_MS;
    return all.goneSince !== null || isLately(four) || isLately(six);
  }

  #reachOf(families: Families): Reach[] {
    return this.#scopesOf(families).map((scope) => this.#reach[scope]);
  }

  #scopesOf(families: Families): Scope[] {
    if (families.length === 0) return ['all'];
    const now = this.#parts.clock.monotonic();
    return families.map((family) => (this.#reach[family].isKnown(now) ? family : 'all'));
  }

  async #startRound(): Promise<Round> {
    const { clock } = this.#parts;
    const waitMs = Math.max(0, this.#roundBeganAt + ROUND_EVERY_MS - clock.monotonic());
    // The function waits even for a resolved promise, so that calls
    // that follow this one without a pause join the round.
    await (waitMs > 0 ? pause(this.#parts.clock, waitMs, this.#stopping.signal) : Promise.resolve());
    this.#next = null;
    this.#roundBeganAt = clock.monotonic();
    if (this.#stopping.signal.aborted) return NO_ROUND;
    const round = this.#round();
    this.#running = Promise.all(Object.values(round));
    return round;
  }

  #round(): Round {
    const { clock } = this.#parts;
    const listed = this.#listed();
    const counting = this.#counting(listed);
    for (const reference of listed) this.#known.set(reference.name, reference);
    const end = new AbortController();
    // After a long stall of the agent, answers may lie unread
    // in its sockets. They are read before the round ends.
    const endRound = (): void => afterReading(() => end.abort());
    const cancel = clock.after(ANSWER_WITHIN_MS, endRound);
    const signal = AbortSignal.any([end.signal, this.#stopping.signal]);
    const answers = {
      all: Promise.withResolvers<ReferenceAnswer>(),
      4: Promise.withResolvers<ReferenceAnswer>(),
      6: Promise.withResolvers<ReferenceAnswer>(),
    };
    const heardBy = new Set<Scope>();
    const heard = (name: string, scope: Scope): void => {
      heardBy.add(scope);
      if (this.#reach[scope].recordAnswer(name, clock.monotonic())) this.#logReturn(scope);
      // The callers need only one answer. Further answers are awaited only to record them.
      answers[scope].resolve('answered');
    };
    const asked = [...this.#known.values()].map((reference) =>
      reference.askReference(signal, (family) => {
        heard(reference.name, 'all');
        if (family !== null) heard(reference.name, family);
      }),
    );
    void Promise.all(asked).then(() => {
      cancel();
      for (const scope of SCOPES) {
        if (!heardBy.has(scope)) answers[scope].resolve(this.#takeMiss(scope, counting[scope]));
      }
    });
    return { all: answers.all.promise, 4: answers[4].promise, 6: answers[6].promise };
  }

  #takeMiss(scope: Scope, counting: readonly string[]): ReferenceAnswer {
    const { clock, log } = this.#parts;
    const reach = this.#reach[scope];
    if (this.#stopping.signal.aborted || !reach.recordMiss(counting.length > 0, clock.monotonic()))
      return 'none';
    const isCovered = scope !== 'all' && this.#reach.all.goneSince !== null;
    if (!isCovered && !this.#loggedLosses.has(scope)) {
      this.#loggedLosses.add(scope);
      log.warn(
        { references: counting, by: NAMES[scope] },
        'no reference host answers any more: the network of the agent may be down',
      );
    }
    return 'gone';
  }

  #logReturn(scope: Scope): void {
    if (!this.#loggedLosses.delete(scope)) return;
    this.#parts.log.info({ event: 'recovered', by: NAMES[scope] }, 'reference hosts answer again');
  }

  /**
   * Returns the listed references. If the list cannot be made, for example because no
   * descriptors are left, returns the references that the last round asked.
   */
  #listed(): readonly Reference[] {
    try {
      return this.#parts.list();
    } catch (error) {
      this.#parts.log.debug({ error: messageOf(error) }, 'cannot look up the reference hosts');
      return [...this.#known.values()];
    }
  }

  /**
   * Returns the names of the references that answered within the last hour,
   * by scope. All other references are forgotten, unless they are listed.
   */
  #counting(listed: readonly Reference[]): Record<Scope, string[]> {
    const now = this.#parts.clock.monotonic();
    const { all, 4: four, 6: six } = this.#reach;
    const counting = { all: all.counting(now), 4: four.counting(now), 6: six.counting(now) };
    const kept = new Set([...counting.all, ...listed.map(({ name }) => name)]);
    for (const name of this.#known.keys()) if (!kept.has(name)) this.#known.delete(name);
    return counting;
  }
}

const NAMES: Readonly<Record<Scope, string>> = { all: 'IPv4 and IPv6', 4: 'IPv4', 6: 'IPv6' };

/** The result of a round when the agent is stopping. */
const NO_ROUND: Round = {
  all: Promise.resolve('none'),
  4: Promise.resolve('none'),
  6: Promise.resolve('none'),
};

/** The result of several scopes together. It resolves as soon as one scope has answered. */
async function joined(answers: readonly Promise<ReferenceAnswer>[]): Promise<ReferenceAnswer> {
  const [only] = answers;
  if (only !== undefined && answers.length === 1) return await only;
  const all = Promise.all(answers).then((each) => (each.includes('none') ? 'none' : 'gone'));
  return await Promise.race(
    answers.map((answer) => answer.then((each) => (each === 'answered' ? each : all))),
  );
}

/**
 * Time after its last answer for which a reference counts, ms. While
 * references count, their silence shows that the network is down.
 */
const COUNTS_MS = 3_600_000;

/**
 * The known state of the references of one address family, or of all references. Instants are monotonic ms.
 *
 *     none counts ── one answers ──▶ some count ── none answers any more ──▶ gone, for however long
 *         ▲                            ▲  │                                   │  │
 *         ├──── no answer for an hour ─┼──┘                                   │  │
 *         └──── `forgetAnswers` ───────┼──────────────────────────────────────┘  │
 *                                      └──────────── one answers ────────────────┘
 */
class Reach {
  /** Instant of the last answer, by the name of the reference. */
  readonly #answeredAt = new Map<string, number>();
  #lastAnswerAt = Number.NEGATIVE_INFINITY;
  #goneSince: number | null = null;
  #backAt = Number.NEGATIVE_INFINITY;

  /** Since when all references are gone, monotonic ms; null in the other two states of the diagram. */
  get goneSince(): number | null {
    return this.#goneSince;
  }

  /**
   * When a reference answered again after all references had been gone: the
   * last such instant, monotonic ms; negative infinity when there was none.
   */
  get backAt(): number {
    return this.#backAt;
  }

  /** Whether a reference answered within the last hour, or all references were found to be gone. */
  isKnown(now: number): boolean {
    return this.#goneSince !== null || now - this.#lastAnswerAt < COUNTS_MS;
  }

  /**
   * Returns the names of the references that answered within the last hour. Earlier answers are forgotten.
   */
  counting(now: number): string[] {
    for (const [name, at] of this.#answeredAt) if (at <= now - COUNTS_MS) this.#answeredAt.delete(name);
    return [...this.#answeredAt.keys()];
  }

  /**
   * Records an answer.
   *
   * @returns whether all references had been gone
   */
  recordAnswer(name: string, now: number): boolean {
    this.#answeredAt.set(name, now);
    this.#lastAnswerAt = Math.max(this.#lastAnswerAt, now);
    if (this.#goneSince === null) return false;
    this.#goneSince = null;
    this.#backAt = now;
    return true;
  }

  /**
   * Records that no reference answered in a round. References that are gone stay gone even after an hour, so
   * that a long outage of the network never becomes a verdict about targets.
   *
   * @param counted whether a reference counted when the round began
   * @returns whether the references are gone
   */
  recordMiss(counted: boolean, now: number): boolean {
    if (counted) this.#goneSince ??= now;
    return this.#goneSince !== null;
  }

  forgetAnswers(): void {
    this.#answeredAt.clear();
    this.#lastAnswerAt = Number.NEGATIVE_INFINITY;
    this.#goneSince = null;
  }

  /** Copies the answers that `other` has recorded. */
  copyAnswersOf(other: Reach): void {
    for (const [name, at] of other.#answeredAt) this.recordAnswer(name, at);
  }
}
