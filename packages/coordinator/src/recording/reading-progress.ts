import type { Clock } from '@svc/shared/clock.ts';
import type { ResultConsumer } from './consumer.ts';

/** How long an answer of the consumer is good for, ms: below the 2 s between two heartbeats. */
const GOOD_FOR_MS = 1_500;

/**
 * Says without waiting whether everything the stream holds is recorded. The first question starts
 * looking and is answered with no; whoever asks comes again. A yes may be a second and a half old, which is
 * enough for those who ask about jobs that have been gone for two heartbeats.
 */
export class ReadingProgress {
  readonly #consumer: Pick<ResultConsumer, 'caughtUp'>;
  readonly #clock: Clock;
  #isLooking = false;
  #caughtUpAt = Number.NEGATIVE_INFINITY;

  constructor(consumer: Pick<ResultConsumer, 'caughtUp'>, clock: Clock) {
    this.#consumer = consumer;
    this.#clock = clock;
  }

  isCaughtUp(): boolean {
    if (this.#clock.monotonic() - this.#caughtUpAt <= GOOD_FOR_MS) return true;
    if (!this.#isLooking) void this.#look();
    return false;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const askedAt = this.#clock.monotonic();
    try {
      await this.#consumer.caughtUp();
      this.#caughtUpAt = Math.max(this.#caughtUpAt, askedAt);
    } finally {
      this.#isLooking = false;
    }
  }
}
