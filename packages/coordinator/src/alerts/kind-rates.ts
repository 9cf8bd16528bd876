import type { Clock } from '@svc/shared/clock.ts';
import { TokenBucket } from '../verdict/rate.ts';
import type { ChannelQueue, FoundChannel } from './channel-queue.ts';
import { factsOf } from './registry.ts';

/** The rate of one kind, over all its channels. */
type Gate = { readonly tokens: TokenBucket; readonly waiting: Set<ChannelQueue>; cancelTimer: () => void };

/**
 * Keeps to the rates of kinds whose channels share the operator's account. Channels that wait are let through in the
 * order in which they came.
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

  /** A message begins. @param now on the monotonic clock */
  take({ kind }: FoundChannel, now: number): void {
    this.#gateOf(kind)?.tokens.take(now);
  }

  forget(queue: ChannelQueue): void {
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
