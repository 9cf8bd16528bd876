import { Heap } from '@svc/shared/heap.ts';
import { Pace } from '../domain/pace.ts';
import { TokenBucket } from '../domain/rate.ts';
import type { ChannelFacts } from './channel.ts';
import { type Lane, newLane } from './lane.ts';
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

/**
 * Most simultaneous sends to one channel. Before the first success, and after a failure, it is two, so that a
 * hanging receiver holds few of the places that all channels share, and is not flooded while it recovers.
 */
const SENDS_PER_CHANNEL = 8;
const SENDS_PER_UNPROVEN_CHANNEL = 2;

/**
 * What the deliverer knows of one channel: its lanes, and what its receiver takes. It is kept for some minutes
 * after its last alert, because rates outlast alerts.
 */
export class ChannelQueue {
  readonly notificationId: number;
  /** All lanes, wherever they are. */
  readonly lanes = new Map<number, Lane>();
  /** Those that wait for their own next attempt: a success looks through them, not through all. */
  readonly waiting = new Set<Lane>();
  /** Lanes that wait for their turn, in the order of their alerts. */
  readonly ready = new Heap<Lane>(({ headId }) => headId);
  readonly pace = new Pace();
  /** Undefined: it is looked up before the next send; null: it is gone. */
  found: FoundChannel | null | undefined = undefined;
  sending = 0;
  /** Whether one message for many lanes is made or sent: there is one at a time. */
  isGrouping = false;
  /** Whether its last send was slow: see `Places`. */
  isSlow = false;
  /** Whether the last attempt was a success. */
  isProven = false;
  /** How often the channel was changed or taken up: an answer to an earlier send says nothing of it as it is. */
  takenUp = 0;
  /** First of the answers in a row that call the address dead, on the monotonic clock; null: none. */
  doubtedAt: number | null = null;
  /** On the monotonic clock. */
  usedAt = 0;
  /** Whether its channel was removed, or it was forgotten. */
  isRemoved = false;
  /** The lookup of the channel that runs; null: none. A later change of the channel makes it count no more. */
  opening: symbol | null = null;
  /** Cancels the timer of its next turn. */
  cancelTurn: () => void = () => {};
  readonly #undecided = new Set<Promise<void>>();
  #bucket: { readonly kind: string; readonly tokens: TokenBucket | null } | null = null;

  constructor(notificationId: number) {
    this.notificationId = notificationId;
  }

  /** Null: this version does not know the kind, or the channel was not looked up yet. */
  get facts(): ChannelFacts | null {
    return this.found === undefined || this.found === null ? null : factsOf(this.found.kind);
  }

  get isStopped(): boolean {
    return this.found !== undefined && this.found !== null && this.found.stoppedFor !== null;
  }

  get hasPlace(): boolean {
    return this.sending < (this.isProven ? SENDS_PER_CHANNEL : SENDS_PER_UNPROVEN_CHANNEL);
  }

  /** What was found counts no more. */
  reopen(): void {
    this.found = undefined;
    this.opening = null;
  }

  /** What was found and learned counts no more, and neither do answers to what is being sent. */
  takeUp(): void {
    this.reopen();
    this.takenUp += 1;
    this.pace.reset();
    this.doubtedAt = null;
    this.isProven = false;
  }

  /** A lane's turn came, and its head is read. Returns a function that says that this is over. */
  deciding(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#undecided.add(promise);
    return () => {
      this.#undecided.delete(promise);
      resolve();
    };
  }

  /** Resolves when it is decided of all lanes whose turn came so far how they are sent. */
  async allDecided(): Promise<void> {
    await Promise.all(this.#undecided);
  }

  /** Its address is dead: nothing more is sent to it until it is looked up again. */
  stop(reason: string): void {
    if (this.found !== undefined && this.found !== null) this.found = { ...this.found, stoppedFor: reason };
  }

  /** Its kind keeps this from now on. */
  keep(kept: string): void {
    if (this.found !== undefined && this.found !== null) this.found = { ...this.found, kept };
  }

  /** When the next send may start by what the receiver takes, on the monotonic clock. */
  readyAt(now: number): number {
    if (this.isStopped) return now;
    return Math.max(this.pace.readyAt(now), this.#tokens()?.availableAt(now) ?? now);
  }

  started(now: number): void {
    this.usedAt = now;
    this.pace.started(now);
    this.#tokens()?.take(now);
  }

  /** What was started was not sent after all. */
  givenBack(): void {
    this.pace.givenBack();
    this.#tokens()?.giveBack();
  }

  lane(monitorId: number): Lane {
    let lane = this.lanes.get(monitorId);
    if (lane === undefined) {
      lane = newLane(this.notificationId, monitorId);
      this.lanes.set(monitorId, lane);
    }
    return lane;
  }

  /** Age of the oldest head, as the instant when it was queued, epoch ms; null: nothing waits. */
  get oldestQueuedAt(): number | null {
    let oldest: number | null = null;
    for (const { queuedAt } of this.lanes.values()) {
      if (oldest === null || queuedAt < oldest) oldest = queuedAt;
    }
    return oldest;
  }

  /** Ends all timers. */
  cancelTimers(): void {
    this.cancelTurn();
    for (const lane of this.lanes.values()) lane.cancelTimer();
  }

  #tokens(): TokenBucket | null {
    const kind = this.found?.kind;
    if (kind === undefined) return null;
    if (this.#bucket?.kind !== kind) {
      const rate = factsOf(kind)?.rate.channel;
      this.#bucket = { kind, tokens: rate === undefined ? null : new TokenBucket(rate) };
    }
    return this.#bucket.tokens;
  }
}
