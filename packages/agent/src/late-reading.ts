/** The quickest message of a span, or of the one before, tells how long the way takes, ms. */
const SPAN_MS = 30_000;

type Parts = {
  /** The longest time for which the event loop can have stood still of late, ms. */
  readonly stallMs: () => number;
};

/**
 * Tells how long a message lay unread because the event loop was busy. What it says about later instants counts from
 * its arrival, so that a busy agent does not begin checks late that it was given in time.
 *
 * It compares the message with the quickest one of late: both were sent by the same clock, so the agent's own need not
 * agree with it. A longer way counts as well, but no more than the event loop can have stood still: an agent that is idle believes in no
 * delay, whatever happens to the sender's clock.
 */
export class LateReading {
  readonly #parts: Parts;
  /** The quickest way in this span, and in the one before, ms; infinite where there was no message. */
  #quickest = Number.POSITIVE_INFINITY;
  #quickestBefore = Number.POSITIVE_INFINITY;
  #spanUntil = Number.NEGATIVE_INFINITY;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * The time for which the message was unread, ms.
   *
   * @param sentAt epoch ms of the sender
   * @param readAt monotonic ms
   */
  of(sentAt: number, readAt: number): number {
    if (readAt >= this.#spanUntil) {
      // The quickest message of long ago tells nothing: the clocks have drifted apart since.
      const isLongAgo = readAt >= this.#spanUntil + SPAN_MS;
      this.#quickestBefore = isLongAgo ? Number.POSITIVE_INFINITY : this.#quickest;
      this.#quickest = Number.POSITIVE_INFINITY;
      this.#spanUntil = readAt + SPAN_MS;
    }
    const way = readAt - sentAt;
    this.#quickest = Math.min(this.#quickest, way);
    return Math.min(way - Math.min(this.#quickest, this.#quickestBefore), this.#parts.stallMs());
  }
}
