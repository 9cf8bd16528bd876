import type { Clock } from '@svc/shared/clock.ts';
import type { StreamMessage } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';

/**
 * Time for which an answer of the consumer is valid, ms. It is less than the 2 s
 * between two heartbeats of an agent.
 */
const GOOD_FOR_MS = 1_500;

/** The consumer of results. A caller can wait until it has recorded what the streams contain now. */
type Consumer = {
  /**
   * Resolves when all messages that the region's stream contains now
   * are recorded. Without `region`, the messages of all streams count.
   */
  caughtUp(region?: Region): Promise<void>;
};

type Look = { isLooking: boolean; caughtUpAt: number };

/**
 * Tells without waiting whether everything in a region's stream, or in all streams, is recorded. The first
 * call asks the consumer and returns false; the caller calls again later. An answer of true may be 1.5 s old.
 * This is new enough: jobs count as lost 2.5 s after a reconnect, or after two missed heartbeats, at the
 * earliest.
 */
export class ReadingProgress {
  #consumer: Consumer | null = null;
  readonly #clock: Clock;
  /** The last question to the consumer about each region. The key undefined stands for all streams. */
  readonly #looks = new Map<Region | undefined, Look>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the consumer to ask. Before this call, no stream counts as read. */
  follow(consumer: Consumer): void {
    this.#consumer = consumer;
  }

  /**
   * Whether everything is recorded that the region's stream held up to 1.5 s ago; false: it is not, or this
   * is not known yet. Without `region`, the streams of all regions count.
   */
  isCaughtUp(region?: Region): boolean {
    const consumer = this.#consumer;
    if (consumer === null) return false;
    const look = this.#looks.get(region) ?? { isLooking: false, caughtUpAt: Number.NEGATIVE_INFINITY };
    this.#looks.set(region, look);
    if (this.#clock.monotonic() - look.caughtUpAt <= GOOD_FOR_MS) return true;
    if (!look.isLooking) void this.#askConsumer(consumer, region, look);
    return false;
  }

  async #askConsumer(consumer: Consumer, region: Region | undefined, look: Look): Promise<void> {
    look.isLooking = true;
    const askedAt = this.#clock.monotonic();
    try {
      await consumer.caughtUp(region);
      look.caughtUpAt = Math.max(look.caughtUpAt, askedAt);
    } finally {
      look.isLooking = false;
    }
  }
}

/**
 * Measures how much later than usual the messages of a stream are read. The server's clock may differ from
 * this machine's clock, so the age of the last message in the stream counts as the usual age.
 *
 * The lag is measured on the wall clock and on the monotonic clock, and the smaller lag counts. Setting a
 * clock changes only one of the two lags, even if the server runs on this machine.
 */
export class ReadingLag {
  readonly #clock: Clock;
  /**
   * The usual ages of a message when it is read, ms: on the wall clock, and on the monotonic clock, whose
   * origin differs.
   */
  #usual: { readonly wall: number; readonly monotonic: number } | null = null;
  /** Lag of the last message, ms; 0 until the usual age is known. */
  ms = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when a message is read. `pending`: number of messages that follow it in the stream. */
  measureLag({ time, pending = 0 }: Pick<StreamMessage, 'time' | 'pending'>): void {
    const age = { wall: this.#clock.wall() - time, monotonic: this.#clock.monotonic() - time };
    if (pending === 0) this.#usual = age;
    const usual = this.#usual ?? age;
    this.ms = Math.max(0, Math.min(age.wall - usual.wall, age.monotonic - usual.monotonic));
  }
}

/**
 * Largest size of a result from a real agent, bytes: eleven attempts with messages of 500 ASCII characters.
 */
const BYTES_PER_RESULT = 8 * 1024;
/**
 * Bound on the counted cost, in results. When the cost exceeds it, the cost and the number of new results are
 * halved, so that older messages count less.
 */
const REMEMBERED = 8_192;

/**
 * Judges whether reading a stream is worthwhile: at least half of the cost must be
 * results that were not recorded before.
 *
 * A coordinator that cannot keep up with results gives fewer jobs to all regions. A
 * backlog of garbage, forged results or repetitions must not have this effect,
 * because its region could then take checks from the other regions.
 */
export class ReadingWorth {
  #cost = 0;
  #fresh = 0;

  /** Counts a read message with this many results. */
  countRead(results: number, bytes: number): void {
    this.#cost += Math.max(1, results, bytes / BYTES_PER_RESULT);
    if (this.#cost <= REMEMBERED) return;
    this.#cost /= 2;
    this.#fresh /= 2;
  }

  /** Counts results that were recorded for the first time. */
  countNew(results: number): void {
    this.#fresh += results;
  }

  /**
   * Whether reading the stream was worthwhile so far.
   *
   * @param waiting number of results that were read but not recorded yet. It is not
   *   known yet whether they are new
   */
  isWorthIt(waiting: number): boolean {
    return 2 * this.#fresh >= this.#cost - waiting;
  }
}
