/** Longest honest result, bytes: eleven attempts with messages of 500 characters. */
const BYTES_PER_RESULT = 8 * 1024;
/** Cost that is remembered, in results. */
const REMEMBERED = 8_192;

/**
 * Judges whether reading a stream is worthwhile: at least half of the cost must be results that were not
 * known.
 *
 * A coordinator that cannot keep up with results gives out fewer jobs to all regions. The backlog of a region
 * that sends garbage, forged results or repetitions must not count for that, because it would cost other
 * regions checks.
 */
export class ReadingWorth {
  #cost = 0;
  #fresh = 0;

  /** Notes that a message with this many results was read. */
  read(results: number, bytes: number): void {
    this.#cost += Math.max(1, results, bytes / BYTES_PER_RESULT);
    if (this.#cost <= REMEMBERED) return;
    this.#cost /= 2;
    this.#fresh /= 2;
  }

  /** Notes that this many of its results were recorded for the first time. */
  recorded(results: number): void {
    this.#fresh += results;
  }

  /** @param waiting results that were read and whose novelty is not known yet */
  isWorthIt(waiting: number): boolean {
    return 2 * this.#fresh >= this.#cost - waiting;
  }
}
