/** No honest result is longer, bytes: eleven attempts with messages of 500 characters. */
const BYTES_PER_RESULT = 8 * 1024;
/** About so much cost is remembered, in results. */
const REMEMBERED = 8_192;

/**
 * Whether what is read of a stream is worth its reading: at least half of it are results that were not known.
 *
 * A coordinator that cannot keep up with results gives out fewer jobs, to everybody. The backlog of a region
 * that sends garbage, forged results or repetitions is no sign of that, and must cost no other region a check.
 */
export class ReadingWorth {
  #cost = 0;
  #fresh = 0;

  /** A message with so many results was read. */
  read(results: number, bytes: number): void {
    this.#cost += Math.max(1, results, bytes / BYTES_PER_RESULT);
    if (this.#cost <= REMEMBERED) return;
    this.#cost /= 2;
    this.#fresh /= 2;
  }

  /** So many results of it are recorded for the first time. */
  recorded(results: number): void {
    this.#fresh += results;
  }

  /** @param waiting results that were read and of which it is not known yet */
  isWorthIt(waiting: number): boolean {
    return 2 * this.#fresh >= this.#cost - waiting;
  }
}
