import { RETRY_AFTER_MAXIMUM_MS } from '../verdict/backoff.ts';
import { TokenBucket } from '../verdict/rate.ts';
import { type ChannelFacts, reasonOf, type SendResult } from './channel.ts';
import { factsOf } from './registry.ts';
import type { FoundChannel } from './sender.ts';

/** Maximum number of messages to one channel at once. */
const MESSAGES_AT_ONCE = 8;
/** Time for which a channel gets one message at a time after "too many requests", ms. */
const CAREFUL_MS = 60_000;

/**
 * The deliverer's knowledge about one channel. Only the `Deliverer` writes it. The deliveries themselves are
 * in the database. The object is kept for ten minutes after the last delivery, because a rate may limit the
 * next alert. Instants are of the monotonic clock.
 */
export type ChannelQueue = {
  readonly notificationId: number;
  /** Null: the channel is looked up before the next send. */
  found: FoundChannel | null;
  /**
   * Number of changes of the channel so far. If the number grew while a message was in progress, the
   * answer to that message says nothing about the channel's present settings.
   */
  generation: number;
  /** Whether the channel was removed, or this object was dropped because it was idle. */
  isRemoved: boolean;

  /** Whether a read for the next deliveries is running. There is one at a time. */
  isReading: boolean;
  /** Whether something happened during the read, so that another one must follow. */
  isToReadAgain: boolean;
  /** Cancels the timer of the next read. */
  cancelTimer: () => void;
  lastReadAt: number;
  /** Whether the last read found nothing, and no further read was requested since. */
  isEmpty: boolean;

  /** Monitors whose deliveries are being sent or recorded. */
  readonly inProgress: Set<number>;
  /** Messages in progress. */
  sending: number;
  /** Whether a message in progress is for many monitors. Nothing else begins meanwhile. */
  isGrouping: boolean;
  /** The delivery that waits for others of its group, and until when; null: none. */
  collecting: { readonly id: number; readonly until: number } | null;
  /** Deliveries that are sent alone, because the receiver refused the content of their group. */
  readonly alone: Set<number>;

  /** Nothing is sent before this instant, at the receiver's request. */
  heldUntil: number;
  /** Nothing is tried before this instant, because svc itself failed. */
  pausedUntil: number;
  /** From this instant on the channel gets several messages at once; infinite: after its next success. */
  trustedFrom: number;
  /** First of the successive answers that call the address dead; null: none. */
  doubtedAt: number | null;
  /** The rate that the vendor accepts, with the kind to which it belongs; null: not needed yet. */
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

/** Null: this version does not know the kind, or the channel was not looked up yet. */
export function factsOfQueue({ found }: ChannelQueue): ChannelFacts | null {
  return found === null ? null : factsOf(found.kind);
}

/**
 * How many further messages may begin now. A channel gets eight messages at once. It gets one at a time
 * before its first success, after a failure, and for a minute after it answered "too many requests".
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
 * Notes what an answer says about the channel: whether it
 * works, when it takes more, whether its address is dead.
 *
 * @param now    monotonic, ms
 * @param waitMs time until the delivery is tried again
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
      // The channel is stopped before this is recorded: meanwhile other deliveries would be sent.
      if (queue.found !== null) queue.found = { ...queue.found, stoppedFor: result.error };
      return;
    case 'permanent-message':
    case 'not-sent':
      return;
    default:
      result satisfies never;
  }
}
