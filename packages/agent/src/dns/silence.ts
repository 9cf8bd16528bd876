/**
 * A name without an answer for this long is silent, ms. It is shorter than the first wait between two tries.
 */
export const SILENT_AFTER_MS = 450;
/** The same in an attempt that is too short for that, ms. Servers answer names that they know sooner. */
const SILENT_SOON_MS = 150;
/** Most names given up in silence that are remembered until a server speaks. */
const MAX_SILENT = 1_000;
/** Shortest interval between questions about a known name, ms. */
const ASK_AGAIN_MS = 1_000;
/** After an answer that is older than this, the servers may have died, ms. */
const QUIET_MS = 50;

/**
 * Distinguishes silence about one name (the servers of its zone are dead) from silence of the agent's own
 * name servers, which then do not answer about any other name either.
 *
 * All instants are monotonic ms.
 */
export class Silence {
  /** When a server was last heard. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Questions that wait for an answer, by name, with the start of the first one. */
  readonly #waiting = new Map<string, { count: number; since: number }>();
  /** Names that were given up in silence since a server was last heard. */
  readonly #givenUp = new Set<string>();
  /** The names that were answered last, the newest first; at most two. */
  #answered: readonly string[] = [];
  #askedAgainAt = Number.NEGATIVE_INFINITY;
  /** When a known name was asked for first since a server was last heard; null: it was not. */
  #listeningSince: number | null = null;
  /** When a question ended because no server could be reached. */
  #unreachableAt = Number.NEGATIVE_INFINITY;

  asked(name: string, now: number): void {
    const waiting = this.#waiting.get(name);
    if (waiting === undefined) this.#waiting.set(name, { count: 1, since: now });
    else waiting.count += 1;
  }

  /** Notes the end of a question. Call it once for each that was {@link asked}. */
  ended(name: string): void {
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined && --waiting.count === 0) this.#waiting.delete(name);
  }

  gaveUp(name: string): void {
    if (this.#givenUp.size < MAX_SILENT) this.#givenUp.add(name);
  }

  /** Notes that none of the servers of a question could be reached: all refused, or there was no route to them. */
  unreachable(now: number): void {
    this.#unreachableAt = now;
  }

  /** Notes that a server answered a question about the name, whatever it said. */
  recordReply(name: string, now: number): void {
    this.#heardAt = now;
    this.#listeningSince = null;
    if (this.#givenUp.size > 0) this.#givenUp.clear();
    if (this.#answered[0] !== name) this.#answered = [name, ...this.#answered.slice(0, 1)];
  }

  /**
   * Whether our servers are silent. One of these is enough:
   *
   * - They could not be reached for another question, and have not been heard after that. A machine whose
   *   resolver has died says so once a second to each peer (`icmp_ratelimit` of icmp(7)); all other questions
   *   meet silence.
   * - A name that they know was asked for, and they have not been heard after that. They may have answered at
   *   the beginning of an attempt, and have died in the middle of it.
   * - More than one name is silent, and they have not been heard since `since`.
   *
   * @param since start of a question that was not answered, at most `now`
   */
  isTotal(since: number, now: number): boolean {
    if (this.#unreachableAt > Math.max(this.#heardAt, since - ASK_AGAIN_MS)) return true;
    // An event loop that is late asks for the other name late, and a short time-out leaves no room for that.
    const silentAfterMs = Math.max(SILENT_SOON_MS, Math.min(SILENT_AFTER_MS, (now - since) / 2));
    if (this.#listeningSince !== null && now - this.#listeningSince >= silentAfterMs) return true;
    if (this.#heardAt > since) return false;
    const silent = new Set(this.#givenUp);
    for (const [name, { since: from }] of this.#waiting) if (now - from >= silentAfterMs) silent.add(name);
    return silent.size > 1;
  }

  /**
   * A name to ask for, to find out whether the servers answer at all. It is one that was answered before, so
   * that a working server answers it again. Null: none is known, the servers were heard just now, one was asked
   * for just now, or questions about other names tell the same.
   */
  otherNameToAsk(name: string, since: number, now: number): string | null {
    if (now - this.#askedAgainAt < ASK_AGAIN_MS) return null;
    const hasSpoken = this.#heardAt > since;
    if (hasSpoken ? now - this.#heardAt < QUIET_MS : this.#waiting.size > 1) return null;
    const other = this.#answered.find((answered) => answered !== name) ?? null;
    if (other === null) return null;
    this.#askedAgainAt = now;
    this.#listeningSince ??= now;
    return other;
  }
}
