/**
 * Number of pairs of region and shard whose readings may each request their full bounds: 264 KiB of
 * results and 16 KiB of heartbeats. Together these are 7.7 MiB. NATS closes a connection with more
 * unsent bytes than its `max_pending`, which is 8 MiB where `svc region init` set NATS up.
 */
const FULL_PAIRS = 28;
/** Maximum number of readings with a turn for a large message. */
const TURNS = FULL_PAIRS / 2;

/**
 * Divides the bytes that may be requested and not yet handled among the readings of one connection.
 *
 * Up to 28 pairs of region and shard, each request has the full bound of its reading. With more pairs, a
 * request has its share of the bounds of 14 pairs. A reading whose next message is larger than its share
 * requests this message alone, with the full bound, as soon as it has one of 14 turns.
 */
export class ReadAhead {
  #pairs = 1;
  #freeTurns = TURNS;
  readonly #waiting = new Set<() => void>();

  /**
   * Sets the number of pairs before the first reading begins.
   *
   * @param pairs maximum number of pairs of region and shard that the connection reads
   */
  expectPairs(pairs: number): void {
    this.#pairs = pairs;
  }

  /**
   * Number of bytes that a reading with this full bound may request. It is at least 1, because NATS reads 0 as
   * no limit.
   */
  shareOf(fullBytes: number): number {
    if (this.#pairs <= FULL_PAIRS) return fullBytes;
    return Math.max(1, Math.floor((fullBytes * TURNS) / this.#pairs));
  }

  /** Calls `start` when the caller has a turn, possibly at once. The caller must give the turn back once. */
  takeTurn(start: () => void): void {
    if (this.#freeTurns === 0) {
      this.#waiting.add(start);
      return;
    }
    this.#freeTurns -= 1;
    start();
  }

  /** Forgets a caller that waits for a turn. */
  leaveQueue(start: () => void): void {
    this.#waiting.delete(start);
  }

  giveTurnBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#freeTurns += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
