import type { Clock } from '@svc/shared/clock.ts';
import type { StreamMessage } from '@svc/shared/nats/bus.ts';

/**
 * Measures how much later than usual messages of a stream are read. The server's clock may differ from this
 * machine's, so the age of a message that no other follows counts as the usual one.
 *
 * The lag is measured on the wall clock and on the monotonic clock, and the smaller one counts. Setting a
 * clock changes only one of them, whether it is this machine's or a server's on this machine.
 */
export class ReadingLag {
  readonly #clock: Clock;
  /** The usual ages, ms: by the wall clock, and by the monotonic clock from its own origin. */
  #usual: { readonly wall: number; readonly monotonic: number } | null = null;
  /** Lag of the last message, ms; 0 until the usual age is known. */
  ms = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read({ time, pending = 0 }: Pick<StreamMessage, 'time' | 'pending'>): void {
    const age = { wall: this.#clock.wall() - time, monotonic: this.#clock.monotonic() - time };
    if (pending === 0) this.#usual = age;
    const usual = this.#usual ?? age;
    this.ms = Math.max(0, Math.min(age.wall - usual.wall, age.monotonic - usual.monotonic));
  }
}
