/** How long a reference counts after its last answer, ms. */
const COUNTS_MS = 3_600_000;

/**
 * What is known of the references of one address family, or of all. Instants are monotonic ms.
 *
 *     none counts ── one answers ──▶ some count ── none answers any more ──▶ gone, for however long
 *         ▲                            ▲  │                                   │  │
 *         ├──── no answer for an hour ─┼──┘                                   │  │
 *         └──── they were wrong ───────┼──────────────────────────────────────┘  │
 *                                      └──────────── one answers ────────────────┘
 */
export class Reach {
  /** Last answer by name of the reference. */
  readonly #answeredAt = new Map<string, number>();
  #lastAnswerAt = Number.NEGATIVE_INFINITY;
  #goneSince: number | null = null;
  #backAt = Number.NEGATIVE_INFINITY;

  /** Since when none answers; null while one answers or none counts. */
  get goneSince(): number | null {
    return this.#goneSince;
  }

  /** When one was first heard again after all had been gone; negative infinity: never. */
  get backAt(): number {
    return this.#backAt;
  }

  /** Whether one answered within the last hour, or all were found to be gone. */
  isKnown(now: number): boolean {
    return this.#goneSince !== null || now - this.#lastAnswerAt < COUNTS_MS;
  }

  /** Names of the references that answered within the last hour. The others are forgotten. */
  counting(now: number): string[] {
    for (const [name, at] of this.#answeredAt) if (at <= now - COUNTS_MS) this.#answeredAt.delete(name);
    return [...this.#answeredAt.keys()];
  }

  /** @returns whether all had been gone */
  heard(name: string, now: number): boolean {
    this.#answeredAt.set(name, now);
    this.#lastAnswerAt = Math.max(this.#lastAnswerAt, now);
    if (this.#goneSince === null) return false;
    this.#goneSince = null;
    this.#backAt = now;
    return true;
  }

  /**
   * Notes that none answered in a round. References that are gone stay gone even after an hour, so that a long
   * outage of the network does not become a verdict.
   *
   * @param counted whether one counted when the round began
   * @returns whether they are gone
   */
  missed(counted: boolean, now: number): boolean {
    if (counted) this.#goneSince ??= now;
    return this.#goneSince !== null;
  }

  forget(): void {
    this.#answeredAt.clear();
    this.#lastAnswerAt = Number.NEGATIVE_INFINITY;
    this.#goneSince = null;
  }

  /** Takes over the answers of another one. */
  takeFrom(other: Reach): void {
    for (const [name, at] of other.#answeredAt) this.heard(name, at);
  }
}
