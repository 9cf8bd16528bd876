/** What a region may say without end, bytes a second: twenty agents that hold 16,000 jobs each say 5 MB. */
const PER_SECOND = 6 * 1_024 ** 2;
/** And at once, bytes: the same agents after an outage, who all speak at its end and again within 2 s. */
const AT_ONCE = 16 * 1_024 ** 2;
/**
 * What a message costs beside its bytes, in bytes: a small one takes some 60 µs at worst. With it 1,500 messages a
 * second are allowed and 4,000 at once; 1,000 agents send 500 a second.
 */
export const MESSAGE_COST = 4 * 1_024;
/** What was said while this process stood still may be taken up within this time, ms. */
const CATCH_UP_MS = 5_000;
/** What it costs a region that its connection is cut off, bytes: so much was not read (`max_pending` of `deploy/nats`). */
const CUT_OFF_COST = 8 * 1_024 ** 2;

/**
 * How much of one region's agents is read: a bucket of bytes. What it lets pass costs at most a tenth of the
 * scheduling thread.
 */
export class RegionAllowance {
  #bytes = AT_ONCE;
  #at = Number.NEGATIVE_INFINITY;
  /** More than may be said at once, bytes, until {@link #extraUntil}. */
  #extra = 0;
  #extraUntil = Number.NEGATIVE_INFINITY;

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

  /**
   * This process stood still for so long until now: what the agents said meanwhile comes at once, and is no more than
   * they may say. In all a region is not allowed more by it.
   */
  stood(ms: number, now: number): void {
    this.#refill(now);
    this.#extra = Math.max(this.#extraAt(now), (ms / 1_000) * PER_SECOND);
    this.#extraUntil = now + CATCH_UP_MS;
  }

  #spend(cost: number, now: number): boolean {
    this.#refill(now);
    const extra = this.#extraAt(now);
    if (this.#bytes + extra < cost) return false;
    this.#extra = Math.max(0, extra - cost);
    this.#bytes -= Math.max(0, cost - extra);
    return true;
  }

  #refill(now: number): void {
    this.#bytes = Math.min(AT_ONCE, this.#bytes + ((now - this.#at) / 1_000) * PER_SECOND);
    this.#at = now;
  }

  #extraAt(now: number): number {
    return now < this.#extraUntil ? this.#extra : 0;
  }
}
