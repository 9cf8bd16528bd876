import type { StreamMessage } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';

/**
 * How much later than usual messages of the stream are read. The server's clock may differ from ours: the
 * age of a message that nothing follows is the usual one.
 *
 * It is measured on the wall clock and on the monotonic one, and the smaller lag holds: a clock that is
 * set moves one of them only, whether it is ours or the one that the server shares with us.
 */
export class ReadingLag {
  readonly #clock: Clock;
  /** Ages of before, ms: by the wall clock, and by the monotonic one from its own origin. */
  #usual: { readonly wall: number; readonly monotonic: number } | null = null;
  /** Of the last message; 0 until the usual age is known. */
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
