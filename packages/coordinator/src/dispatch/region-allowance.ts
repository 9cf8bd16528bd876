/** Lasting rate that a region may send, bytes a second: twenty agents that hold 16,000 jobs each send 5 MB. */
const PER_SECOND = 6 * 1_024 ** 2;
/**
 * Burst that a region may send, bytes: the same agents after an outage, which all send at its end and again
 * within 2 s.
 */
const AT_ONCE = 16 * 1_024 ** 2;
/**
 * Cost of a message beside its bytes, in bytes: a small message takes some 60 µs at worst. It limits a region
 * to 1,500 messages a second and 4,000 at once; 1,000 agents send 500 a second.
 */
export const MESSAGE_COST = 4 * 1_024;
/** Time within which messages sent during a standstill of this process may arrive, ms. */
const CATCH_UP_MS = 5_000;
/** Cost of a cut connection, bytes: so much was not read (`max_pending` of `svc region init`). */
const CUT_OFF_COST = 8 * 1_024 ** 2;

/**
 * Limits how much of one region's messages is read: a bucket of bytes. The admitted messages cost at most a
 * tenth of the scheduling thread.
 */
export class RegionAllowance {
  #bytes = AT_ONCE;
  #at = Number.NEGATIVE_INFINITY;
  /** Bytes above the usual burst, until {@link #extraUntil}. */
  #extra = 0;
  #extraUntil = Number.NEGATIVE_INFINITY;

  /**
   * @param bytes of the message
   * @param now monotonic, ms
   * @returns false: it is more than the region may send
   */
  message(bytes: number, now: number): boolean {
    return this.#spend(bytes + MESSAGE_COST, now);
  }

  /** Notes that the server has cut the region's connection; see {@link message}. */
  cutOff(now: number): boolean {
    return this.#spend(CUT_OFF_COST, now);
  }

  /**
   * Notes that this process stood still for `ms` until now. The messages of that time arrive at once, and are
   * not more than the agents may send. The region's total does not grow by it.
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
