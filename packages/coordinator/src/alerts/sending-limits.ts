import type { Clock } from '@svc/shared/clock.ts';
import { TokenBucket } from '../verdict/rate.ts';
import type { ChannelQueue } from './channel-queue.ts';
import { factsOf } from './registry.ts';
import type { FoundChannel } from './sender.ts';

/* Limits that channels share: the number of places, and the rates of kinds. */

/**
 * Number of places, over all channels. Each message takes a place until its attempt is recorded, and so does
 * each read of a channel's next deliveries while it runs. Tests take no place.
 */
export const IN_PROGRESS_IN_ALL = 1_024;

/**
 * Shares {@link IN_PROGRESS_IN_ALL} among the workspaces. A workspace may take a place while it has taken fewer
 * places than are free. So one busy workspace leaves half of the places to others. Two workspaces that stay
 * busy get a third each, as soon as messages of the first one have ended.
 *
 * Eleven workspaces that fill up in turn, while no message ends, leave no place for a twelfth. The twelfth gets
 * the next place that becomes free: after about 15 s at most, when the attempts in progress time out. No place is
 * reserved for each workspace, because then the number of messages would grow with the number of workspaces.
 */
export class Places {
  readonly #taken = new Map<number, number>();
  #free = IN_PROGRESS_IN_ALL;

  hasPlaceFor(workspaceId: number): boolean {
    return (this.#taken.get(workspaceId) ?? 0) < this.#free;
  }

  /** The caller must have checked {@link hasPlaceFor}. */
  takePlace(workspaceId: number): void {
    this.#free -= 1;
    this.#taken.set(workspaceId, (this.#taken.get(workspaceId) ?? 0) + 1);
  }

  givePlaceBack(workspaceId: number): void {
    const taken = this.#taken.get(workspaceId) ?? 0;
    this.#free += 1;
    if (taken <= 1) this.#taken.delete(workspaceId);
    else this.#taken.set(workspaceId, taken - 1);
  }
}

/** The rate of one kind, over all its channels, and the channels that wait because of this rate. */
type Gate = { readonly tokens: TokenBucket; readonly waiting: Set<ChannelQueue>; cancelTimer: () => void };

/**
 * Enforces the rates of kinds whose channels share the operator's
 * account. Waiting channels are resumed in the order in which they came.
 */
export class KindRates {
  readonly #clock: Clock;
  readonly #resume: (queue: ChannelQueue) => void;
  readonly #gates = new Map<string, Gate | null>();

  /** @param resume called when a channel that waits may try again */
  constructor(clock: Clock, resume: (queue: ChannelQueue) => void) {
    this.#clock = clock;
    this.#resume = resume;
  }

  /** Whether a message may begin now. If not, the channel waits for its turn. */
  mayBegin(queue: ChannelQueue, { kind }: FoundChannel): boolean {
    const gate = this.#gateOf(kind);
    const now = this.#clock.monotonic();
    if (gate === null || gate.tokens.availableAt(now) <= now) return true;
    gate.waiting.add(queue);
    this.#openLater(gate);
    return false;
  }

  /**
   * Counts a message that begins.
   *
   * @param now present time on the monotonic clock, ms
   */
  takeToken({ kind }: FoundChannel, now: number): void {
    this.#gateOf(kind)?.tokens.takeToken(now);
  }

  forgetChannel(queue: ChannelQueue): void {
    for (const gate of this.#gates.values()) gate?.waiting.delete(queue);
  }

  stop(): void {
    for (const gate of this.#gates.values()) gate?.cancelTimer();
  }

  #gateOf(kind: string): Gate | null {
    let gate = this.#gates.get(kind);
    if (gate === undefined) {
      const rate = factsOf(kind)?.rate.kind;
      const none = { waiting: new Set<ChannelQueue>(), cancelTimer: () => {} };
      gate = rate === undefined ? null : { tokens: new TokenBucket(rate), ...none };
      this.#gates.set(kind, gate);
    }
    return gate;
  }

  #openLater(gate: Gate): void {
    const now = this.#clock.monotonic();
    gate.cancelTimer();
    gate.cancelTimer = this.#clock.after(gate.tokens.availableAt(now) - now, () => this.#open(gate));
  }

  #open(gate: Gate): void {
    const [first] = gate.waiting;
    if (first === undefined) return;
    gate.waiting.delete(first);
    this.#resume(first);
    if (gate.waiting.size > 0) this.#openLater(gate);
  }
}
