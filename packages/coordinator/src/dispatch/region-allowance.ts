/** What a region may say without end, bytes a second: twenty agents that hold 16,000 jobs each say 5 MB. */
const PER_SECOND = 6 * 1_024 ** 2;
/** And at once, bytes: the same agents after an outage, who all speak at its end and again within 2 s. */
const AT_ONCE = 16 * 1_024 ** 2;
/**
 * What a message costs beside its bytes, in bytes: a small one takes some 60 µs at worst. With it 1,500 messages a
 * second are allowed and 4,000 at once; 1,000 agents send 500 a second.
 */
export const MESSAGE_COST = 4 * 1_024;
/** What it costs a region that its connection is cut off, bytes: so much was not read (`max_pending` of `deploy/nats`). */
const CUT_OFF_COST = 8 * 1_024 ** 2;

/**
 * How much of one region's agents is read: a bucket of bytes. What it lets pass costs at most a tenth of the
 * scheduling thread.
 */
export class RegionAllowance {
  #bytes = AT_ONCE;
  #at = Number.NEGATIVE_INFINITY;

  /**
   * @param bytes of the message
   * @param now monotonic, ms
   * @returns false: it is more than the region is allowed
   */
  message(bytes: number, now: number): boolean {
    return this.#spend(bytes + MESSAGE_COST, now);
  }

  /** The server has cut the region's connection off. As {@link message}. */
  cutOff(now: number): boolean {
    return this.#spend(CUT_OFF_COST, now);
  }

  #spend(cost: number, now: number): boolean {
    this.#bytes = Math.min(AT_ONCE, this.#bytes + ((now - this.#at) / 1_000) * PER_SECOND);
    this.#at = now;
    if (this.#bytes < cost) return false;
    this.#bytes -= cost;
    return true;
  }
}
