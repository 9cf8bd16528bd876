/**
 * Longest time without an answer after which a name counts as silent, ms.
 * It is shorter than the first wait between two tries of a question.
 */
export const SILENT_AFTER_MS = 450;
/**
 * Shortest time without an answer after which a name counts as silent, ms. It
 * applies to a question whose time-out is too short for {@link SILENT_AFTER_MS}.
 * Servers answer sooner than this for names that they know.
 */
const SILENT_SOON_MS = 150;
/** Maximum number of remembered names whose questions were given up without an answer. */
const MAX_SILENT = 1_000;
/** Minimum interval between two questions that only test whether the servers answer, ms. */
const ASK_AGAIN_MS = 1_000;
/** Age after which an answer no longer shows that the servers live, ms. */
const QUIET_MS = 50;

/**
 * Distinguishes two kinds of silence. If the servers of a name's zone are dead, only names of
 * that zone get no answer. If the agent's own name servers are silent, no name gets an answer.
 *
 * All instants are monotonic ms.
 */
export class Silence {
  /** When a server last answered. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** For each name, the number of questions that wait for an answer, and the start of the first of them. */
  readonly #waiting = new Map<string, { count: number; since: number }>();
  /** Names that were given up in silence since a server last answered. */
  readonly #givenUp = new Set<string>();
  /** The names of the questions that were answered last, the newest first; at most two. */
  #answered: readonly string[] = [];
  #askedAgainAt = Number.NEGATIVE_INFINITY;
  /**
   * When a question that only tests the servers was first asked
   * after the last answer of a server. Null: none was asked since.
   */
  #listeningSince: number | null = null;
  /** When a question last ended because no server could be reached. */
  #unreachableAt = Number.NEGATIVE_INFINITY;

  recordQuestion(name: string, now: number): void {
    const waiting = this.#waiting.get(name);
    if (waiting === undefined) this.#waiting.set(name, { count: 1, since: now });
    else waiting.count += 1;
  }

  /** Records the end of a question. Call it once for each question given to {@link recordQuestion}. */
  recordEnd(name: string): void {
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined && --waiting.count === 0) this.#waiting.delete(name);
  }

  recordGivenUp(name: string): void {
    if (this.#givenUp.size < MAX_SILENT) this.#givenUp.add(name);
  }

  /**
   * Records that no server of a question could be reached: each refused
   * the connection, there was no route to it, or no socket was left.
   */
  recordUnreachable(now: number): void {
    this.#unreachableAt = now;
  }

  /** Records that a server answered a question about the name, whatever the answer says. */
  recordReply(name: string, now: number): void {
    this.#heardAt = now;
    this.#listeningSince = null;
    if (this.#givenUp.size > 0) this.#givenUp.clear();
    if (this.#answered[0] !== name) this.#answered = [name, ...this.#answered.slice(0, 1)];
  }

  /**
   * Whether the agent's name servers are silent. One of these conditions is enough:
   *
   * - The servers could not be reached for some question, less than a second before `since` or
   *   later, and have answered nothing after that. A machine whose resolver has died reports this
   *   to each peer once a second (`icmp_ratelimit` of icmp(7)) and drops all other questions.
   * - A name that was answered before was asked for again as a test, and the servers have
   *   answered nothing after that. The servers may have died in the middle of an attempt.
   * - More than one name is silent, and the servers have answered nothing after `since`.
   *
   * @param since start of a question that was not answered, at most `now`
   */
  isTotal(since: number, now: number): boolean {
    if (this.#unreachableAt > Math.max(this.#heardAt, since - ASK_AGAIN_MS)) return true;
    // If the event loop is late, the test of another name starts late.
    // If the time-out is short, SILENT_AFTER_MS does not fit into it.
    const silentAfterMs = Math.max(SILENT_SOON_MS, Math.min(SILENT_AFTER_MS, (now - since) / 2));
    if (this.#listeningSince !== null && now - this.#listeningSince >= silentAfterMs) return true;
    if (this.#heardAt > since) return false;
    const silent = new Set(this.#givenUp);
    for (const [name, { since: from }] of this.#waiting) if (now - from >= silentAfterMs) silent.add(name);
    return silent.size > 1;
  }

  /**
   * Returns a name that the caller must query now, to test whether the servers answer
   * at all. The name was answered before, so a working server answers it again.
   *
   * Returns null when no such name is known, when a server has just answered, or when the last
   * test began less than a second ago. While no server has answered since `since`, it also
   * returns null when questions about other names are open, because they serve as the test.
   *
   * @param since start of the question about `name`
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
