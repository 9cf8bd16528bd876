/**
 * Number of regions whose readings may each request their full bounds: 264 KiB of results and
 * 16 KiB of heartbeats. Together these are 7.7 MiB. NATS closes a connection with more unsent
 * bytes than its `max_pending`, which is 8 MiB where `svc region init` set NATS up.
 */
const FULL_REGIONS = 28;
/** Maximum number of readings with a turn for a large message. */
const TURNS = FULL_REGIONS / 2;

/**
 * Divides the bytes that may be requested and not yet handled among the readings of one connection.
 *
 * Up to 28 regions, each request has the full bound of its reading. With more regions, a
 * request has its share of the bounds of 14 regions. A reading whose next message is larger than its share
 * requests this message alone, with the full bound, as soon as it has one of 14 turns.
 */
export class ReadAhead {
  #regions = 1;
  #freeTurns = TURNS;
  readonly #waiting = new Set<() => void>();

  /**
   * Sets the number of regions before the first reading begins.
   *
   * @param regions maximum number of regions that the connection reads
   */
  expectRegions(regions: number): void {
    this.#regions = regions;
  }

  /**
   * Number of bytes that a reading with this full bound may request. It is at least 1, because NATS reads 0 as
   * no limit.
   */
  shareOf(fullBytes: number): number {
    if (this.#regions <= FULL_REGIONS) return fullBytes;
    return Math.max(1, Math.floor((fullBytes * TURNS) / this.#regions));
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
