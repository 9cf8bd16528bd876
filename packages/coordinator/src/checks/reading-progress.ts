import type { Clock } from '@svc/shared/clock.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { ResultConsumer } from './consumer.ts';

/** How long an answer of the consumer is valid, ms: less than the 2 s between two heartbeats. */
const GOOD_FOR_MS = 1_500;

type Look = { isLooking: boolean; caughtUpAt: number };

/**
 * Says without waiting whether everything in a region's stream, or in all streams, is recorded. The first
 * question starts a look and gets a no; the caller asks again. A yes may be a second and a half old, which is
 * enough for jobs that have been gone for two heartbeats.
 */
export class ReadingProgress {
  readonly #consumer: Pick<ResultConsumer, 'caughtUp'>;
  readonly #clock: Clock;
  /** Looks by region; undefined: all regions. */
  readonly #looks = new Map<Region | undefined, Look>();

  constructor(consumer: Pick<ResultConsumer, 'caughtUp'>, clock: Clock) {
    this.#consumer = consumer;
    this.#clock = clock;
  }

  isCaughtUp(region?: Region): boolean {
    const look = this.#looks.get(region) ?? { isLooking: false, caughtUpAt: Number.NEGATIVE_INFINITY };
    this.#looks.set(region, look);
    if (this.#clock.monotonic() - look.caughtUpAt <= GOOD_FOR_MS) return true;
    if (!look.isLooking) void this.#look(region, look);
    return false;
  }

  async #look(region: Region | undefined, look: Look): Promise<void> {
    look.isLooking = true;
    const askedAt = this.#clock.monotonic();
    try {
      await this.#consumer.caughtUp(region);
      look.caughtUpAt = Math.max(look.caughtUpAt, askedAt);
    } finally {
      look.isLooking = false;
    }
  }
}
