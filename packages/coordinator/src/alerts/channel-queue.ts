import { TokenBucket } from '../verdict/rate.ts';
import type { ChannelFacts } from './channel.ts';
import { factsOf } from './registry.ts';
import type { StoredChannel } from './sender.ts';

/** A channel, as the deliverer finds it. */
export type FoundChannel = {
  readonly workspaceId: number;
  /** The stored kind, which this version may not know. */
  readonly kind: string;
  /** Why the channel is stopped; null: it is not. */
  readonly stoppedFor: string | null;
  /** Whether alerts of many monitors that change together come as one message, where people read it. */
  readonly groupsAlerts: boolean;
  /** What its kind keeps of it: see `SendContext.kept`. */
  readonly kept: string | null;
  /**
   * The channel with its settings in clear.
   *
   * @throws StoreError when they cannot be read
   */
  open(): StoredChannel;
};

/** Finds a channel; null when it is gone. */
export interface ChannelSource {
  find(notificationId: number): Promise<FoundChannel | null>;
}

/** Most messages to one channel at once. */
const MESSAGES_AT_ONCE = 8;

/**
 * What the deliverer knows of one channel. Only the `Deliverer` writes it. The deliveries themselves are in the
 * database. It is kept for some minutes after its last delivery, because rates outlast alerts. Instants are of the
 * monotonic clock.
 */
export type ChannelQueue = {
  readonly notificationId: number;
  /** Null: it is looked up before the next send. */
  found: FoundChannel | null;
  /** How often the channel was changed: an answer to an earlier message says nothing of it as it is. */
  generation: number;
  /** Whether its channel was removed, or it was forgotten. */
  isRemoved: boolean;

  /** Whether the database is being asked what is next; it is asked by one at a time. */
  isLooking: boolean;
  /** Whether something came meanwhile. */
  isToLookAgain: boolean;
  /** Ends the wait for the next look. */
  cancelTimer: () => void;
  lookedAt: number;
  /** Whether the last look found nothing at all. */
  isEmpty: boolean;

  /** Monitors whose deliveries are being sent or recorded. */
  readonly inProgress: Set<number>;
  /** Messages in progress. */
  sending: number;
  /** Whether one of them is for many monitors: nothing else begins meanwhile. */
  isGrouping: boolean;
  /** The delivery that waits for others of its group, and until when; null: none does. */
  collecting: { readonly id: number; readonly until: number } | null;
  /** Deliveries that are sent alone, because their group was refused for its content. */
  readonly alone: Set<number>;

  /** The receiver asked to send nothing before. */
  heldUntil: number;
  /** Nothing is tried before, because svc itself failed. */
  pausedUntil: number;
  /** From when on it gets more than one message at once; infinite: not before it has taken one. */
  trustedFrom: number;
  /** First of the answers in a row that call the address dead; null: none. */
  doubtedAt: number | null;
  /** The rate that its vendor accepts, with the kind that it is of; null: not needed yet. */
  tokens: { readonly kind: string; readonly bucket: TokenBucket | null } | null;
};

export function newQueue(notificationId: number): ChannelQueue {
  return {
    notificationId,
    found: null,
    generation: 0,
    isRemoved: false,
    isLooking: false,
    isToLookAgain: false,
    cancelTimer: () => {},
    lookedAt: 0,
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
 * How many messages more may begin now. A channel gets eight at once; one at a time before its first success, after a
 * failure, and for a minute after it asked for less.
 */
export function freeMessages({ isGrouping, trustedFrom, sending }: ChannelQueue, now: number): number {
  if (isGrouping) return 0;
  return Math.max(0, (trustedFrom <= now ? MESSAGES_AT_ONCE : 1) - sending);
}

/** The bucket of the rate that the channel's vendor accepts; null: none is known. */
export function tokensOf(queue: ChannelQueue, { kind }: FoundChannel): TokenBucket | null {
  if (queue.tokens?.kind !== kind) {
    const rate = factsOf(kind)?.rate.channel;
    queue.tokens = { kind, bucket: rate === undefined ? null : new TokenBucket(rate) };
  }
  return queue.tokens.bucket;
}
