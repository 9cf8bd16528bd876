import type { Clock } from '@svc/shared/clock.ts';
import { TokenBucket } from '../domain/rate.ts';
import type { ChannelQueue } from './channel-queue.ts';

/** The limit of one kind, over all its channels. */
type Gate = { readonly tokens: TokenBucket; readonly waiting: Set<ChannelQueue>; cancelTimer: () => void };

/**
 * Keeps to the rates of kinds whose channels share the operator's account. Queues that wait are let through in
 * the order of their oldest alerts.
 */
export class KindGates {
  readonly #clock: Clock;
  readonly #resume: (queue: ChannelQueue) => void;
  readonly #gates = new Map<string, Gate | null>();

  /** @param resume called when a queue that waits may try again */
  constructor(clock: Clock, resume: (queue: ChannelQueue) => void) {
    this.#clock = clock;
    this.#resume = resume;
  }

  /** Whether a send may start now. If not, the queue waits for its turn. */
  isOpen(queue: ChannelQueue): boolean {
    const gate = this.#gate(queue);
    if (gate === null) return true;
    const now = this.#clock.monotonic();
    if (gate.tokens.availableAt(now) <= now) return true;
    gate.waiting.add(queue);
    this.#schedule(gate);
    return false;
  }

  /** A send starts; {@link isOpen} said that it may. */
  started(queue: ChannelQueue): void {
    this.#gate(queue)?.tokens.take(this.#clock.monotonic());
  }

  /** Nothing was sent after all. */
  giveBack(queue: ChannelQueue): void {
    this.#gate(queue)?.tokens.giveBack();
  }

  stop(): void {
    for (const gate of this.#gates.values()) gate?.cancelTimer();
  }

  #gate(queue: ChannelQueue): Gate | null {
    const kind = queue.found?.kind;
    if (kind === undefined || queue.isStopped) return null;
    let gate = this.#gates.get(kind);
    if (gate === undefined) {
      const rate = queue.facts?.rate.kind;
      gate =
        rate === undefined
          ? null
          : { tokens: new TokenBucket(rate), waiting: new Set(), cancelTimer: () => {} };
      this.#gates.set(kind, gate);
    }
    return gate;
  }

  #schedule(gate: Gate): void {
    const now = this.#clock.monotonic();
    gate.cancelTimer();
    gate.cancelTimer = this.#clock.after(gate.tokens.availableAt(now) - now, () => this.#open(gate));
  }

  #open(gate: Gate): void {
    for (;;) {
      const now = this.#clock.monotonic();
      const first = earliest(gate.waiting);
      if (first === null) return;
      if (gate.tokens.availableAt(now) > now) {
        this.#schedule(gate);
        return;
      }
      gate.waiting.delete(first);
      this.#resume(first);
    }
  }
}

/** The queue whose next alert is the oldest; null: there is none. */
export function earliest(queues: Iterable<ChannelQueue>): ChannelQueue | null {
  let found: ChannelQueue | null = null;
  let foundId = Number.POSITIVE_INFINITY;
  for (const queue of queues) {
    const id = queue.ready.peek()?.headId ?? Number.POSITIVE_INFINITY;
    if (found === null || id < foundId) [found, foundId] = [queue, id];
  }
  return found;
}
