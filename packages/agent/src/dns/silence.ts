/** A name that was not answered for this long is silent, ms: by then it has been asked for twice. */
export const SILENT_AFTER_MS = 450;
/** Names that were given up in silence are remembered until a server speaks; beyond so many they count for themselves. */
const MAX_SILENT = 1_000;
/** A known name is asked for again no sooner, ms. */
const ASK_AGAIN_MS = 1_000;

/**
 * Tells the silence about one name (the servers of its zone are dead) from the silence of our own name
 * servers: those say nothing about any other name either.
 *
 * All instants are monotonic ms.
 */
export class Silence {
  /** When a server said anything last. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Questions that wait for an answer, by name, and since when the first of them has. */
  readonly #waiting = new Map<string, { count: number; since: number }>();
  /** Names given up in silence since a server was heard. */
  readonly #givenUp = new Set<string>();
  /** The names that were answered last, the newest first: at most two. */
  #answered: readonly string[] = [];
  #askedAgainAt = Number.NEGATIVE_INFINITY;

  asked(name: string, now: number): void {
    const waiting = this.#waiting.get(name);
    if (waiting === undefined) this.#waiting.set(name, { count: 1, since: now });
    else waiting.count += 1;
  }

  /** A question got its end; to be called once for each that was {@link asked}. */
  ended(name: string): void {
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined && --waiting.count === 0) this.#waiting.delete(name);
  }

  gaveUp(name: string): void {
    if (this.#givenUp.size < MAX_SILENT) this.#givenUp.add(name);
  }

  /** A server answered a question about the name, whatever it said. */
  heard(name: string, now: number): void {
    this.#heardAt = now;
    if (this.#givenUp.size > 0) this.#givenUp.clear();
    if (this.#answered[0] !== name) this.#answered = [name, ...this.#answered.slice(0, 1)];
  }

  /** No server has said anything since `since`, and not about one name alone. */
  isTotal(since: number, now: number): boolean {
    if (this.#heardAt > since) return false;
    const silent = new Set(this.#givenUp);
    for (const [name, { since: from }] of this.#waiting) if (now - from >= SILENT_AFTER_MS) silent.add(name);
    return silent.size > 1;
  }

  /**
   * A name to ask for, because only one name has been silent so far: one that was answered before, so that
   * a server that is there answers it again. Null: none is known, others are waited for, or one was asked for just now.
   */
  otherNameToAsk(name: string, since: number, now: number): string | null {
    if (this.#heardAt > since || now - this.#askedAgainAt < ASK_AGAIN_MS || this.#waiting.size > 1)
      return null;
    const other = this.#answered.find((answered) => answered !== name) ?? null;
    if (other !== null) this.#askedAgainAt = now;
    return other;
  }
}
