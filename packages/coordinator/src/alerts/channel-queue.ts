import { RETRY_AFTER_MAXIMUM_MS } from '../verdict/backoff.ts';
import { TokenBucket } from '../verdict/rate.ts';
import { type ChannelFacts, reasonOf, type SendResult } from './channel.ts';
import { factsOf } from './registry.ts';
import type { FoundChannel } from './sender.ts';

/** Maximum number of messages that are sent to one channel at the same time. Tests are not counted. */
const MESSAGES_AT_ONCE = 8;
/** Time for which a channel gets one message at a time after "too many requests", ms. */
const CAREFUL_MS = 60_000;

/**
 * State of one channel, in memory, for the `Deliverer`. The deliveries themselves are in the database. The
 * object is kept for at least ten minutes after the last read of the channel's deliveries, because the
 * vendor's rate may still limit the next alert. Instants are of the monotonic clock, ms.
 */
export type ChannelQueue = {
  readonly notificationId: number;
  /**
   * The channel as the last look-up found it, and as later answers have changed it; null: the deliverer looks
   * the channel up before the next read.
   */
  found: FoundChannel | null;
  /**
   * Number of times that the channel was changed or started again. If the number grew while a message was in
   * progress, the answer to that message says nothing about the channel's present settings.
   */
  generation: number;
  /** Whether the channel was removed, or this object was dropped because it was idle. */
  isRemoved: boolean;

  /** Whether the channel or its next deliveries are being read. A channel has one such read at a time. */
  isReading: boolean;
  /** Whether the deliveries must be read once more, because something changed during the present read. */
  isToReadAgain: boolean;
  /** Cancels the timer of the next read. */
  cancelTimer: () => void;
  lastReadAt: number;
  /** Whether the last read found nothing, and no further read was requested since. */
  isEmpty: boolean;

  /** Monitors whose deliveries are being sent or recorded. */
  readonly inProgress: Set<number>;
  /** Number of messages in progress. */
  sending: number;
  /**
   * Whether a message that may be about many monitors is in progress. No other message begins until it ends.
   */
  isGrouping: boolean;
  /**
   * The last delivery that had to wait for others of its group: its id, and the end of its wait. Null: none
   * had to wait so far.
   */
  collecting: { readonly id: number; readonly until: number } | null;
  /** Ids of deliveries that are sent alone, because the receiver refused the content of their group. */
  readonly alone: Set<number>;

  /**
   * Nothing but tests is sent before this instant, because the receiver requested a pause or answered "too
   * many requests".
   */
  heldUntil: number;
  /** No read of the channel's deliveries begins before this instant, because the deliverer failed. */
  pausedUntil: number;
  /**
   * From this instant on, the channel may get several messages at once.
   * Infinite: the channel gets one message at a time until its next success.
   */
  trustedFrom: number;
  /**
   * When an attempt showed for the first time since the last success that the address may be dead; null: none
   * has shown that.
   */
  doubtedAt: number | null;
  /**
   * Token bucket for the rate that the vendor accepts for one channel (null: no rate is
   * known), and the kind with this rate. `tokens` is null until a message needs the bucket.
   */
  tokens: { readonly kind: string; readonly bucket: TokenBucket | null } | null;
};

export function newQueue(notificationId: number): ChannelQueue {
  return {
    notificationId,
    found: null,
    generation: 0,
    isRemoved: false,
    isReading: false,
    isToReadAgain: false,
    cancelTimer: () => {},
    lastReadAt: 0,
    isEmpty: false,
    inProgress: new Set(),
    sending: 0,
    isGrouping: false,
    collecting: null,
    alone: new Set(),
    heldUntil: Number.NEGATIVE_INFINITY,
    pausedUntil: Number.NEGATIVE_INFINITY,
    trustedFrom: Number.POSITIVE_INFINITY,
    doubtedAt: null,
    tokens: null,
  };
}

/**
 * Properties of the channel's kind; null: this version does
 * not know the kind, or the channel was not looked up yet.
 */
export function factsOfQueue({ found }: ChannelQueue): ChannelFacts | null {
  return found === null ? null : factsOf(found.kind);
}

/**
 * How many further messages may begin now. A channel gets at most eight messages at once. It gets one at a
 * time before its first success, after an attempt that must be repeated until the next success, and for a
 * minute after it answered "too many requests". None begins while a message about many monitors is in progress.
 */
export function freeMessages({ isGrouping, trustedFrom, sending }: ChannelQueue, now: number): number {
  if (isGrouping) return 0;
  return Math.max(0, (trustedFrom <= now ? MESSAGES_AT_ONCE : 1) - sending);
}

/** The bucket of the rate that the channel's vendor accepts; null: no rate is known. */
export function tokensOf(queue: ChannelQueue, { kind }: FoundChannel): TokenBucket | null {
  if (queue.tokens?.kind !== kind) {
    const rate = factsOf(kind)?.rate.channel;
    queue.tokens = { kind, bucket: rate === undefined ? null : new TokenBucket(rate) };
  }
  return queue.tokens.bucket;
}

/**
 * Updates the state of the channel after an attempt: whether the channel works,
 * when it accepts further messages, and whether its address is dead.
 *
 * @param now    present time, monotonic ms
 * @param waitMs time until the delivery is tried again, ms; negative: it is not tried again
 */
export function noteAnswer(
  queue: ChannelQueue,
  result: SendResult,
  { now, waitMs }: { readonly now: number; readonly waitMs: number },
): void {
  switch (result.outcome) {
    case 'delivered':
      queue.doubtedAt = null;
      if (queue.trustedFrom === Number.POSITIVE_INFINITY) queue.trustedFrom = now;
      if (result.kept !== undefined && queue.found !== null) {
        queue.found = { ...queue.found, kept: result.kept };
      }
      return;
    case 'retry': {
      const isTooMuch = reasonOf(result) === 'rate-limited';
      queue.trustedFrom = isTooMuch ? now + CAREFUL_MS : Number.POSITIVE_INFINITY;
      const asked = result.retryAfterMs ?? (isTooMuch ? waitMs : 0);
      queue.heldUntil = Math.max(queue.heldUntil, now + Math.min(asked, RETRY_AFTER_MAXIMUM_MS));
      if (result.mayBeDead === true) queue.doubtedAt ??= now;
      return;
    }
    case 'permanent-channel':
      // Stops the channel before the database records the stop. Otherwise
      // other deliveries would be sent until the record is written.
      if (queue.found !== null) queue.found = { ...queue.found, stoppedFor: result.error };
      return;
    case 'permanent-message':
    case 'not-sent':
      return;
    default:
      result satisfies never;
  }
}
