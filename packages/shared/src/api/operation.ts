import type { Clock } from '../clock.ts';

export type OperationOptions = {
  readonly clock: Clock;
  /** ms */
  readonly deadlineMs: number;
  /** What is left when the caller's signal aborts a request that may have been carried out, ms. */
  readonly finishMs: number;
  readonly signal: AbortSignal | undefined;
  /** See `RequestOptions.whenAborted`. */
  readonly finishes: boolean;
};

/** The bounds of one request over all its attempts and waits: its deadline and its caller's signal. */
export class Operation {
  /**
   * Whether the server may have carried the request out without our knowing: an attempt is under way,
   * or one ended without telling. Kept by the client.
   */
  mayBeDone = false;
  /** Since when attempts have failed without a usable answer in between, monotonic ms. */
  failingSince: number | null = null;
  readonly #clock: Clock;
  readonly #end = new AbortController();
  readonly #startedAt: number;
  readonly #cancelListening: () => void;
  #deadline: number;
  #cancelDeadline: () => void;
  #isAborted = false;

  constructor({ clock, deadlineMs, finishMs, signal, finishes }: OperationOptions) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#deadline = this.#startedAt + deadlineMs;
    this.#cancelDeadline = clock.after(deadlineMs, () => this.#end.abort());
    const onAbort = () => {
      this.#isAborted = true;
      if (finishes && this.mayBeDone) this.#shorten(finishMs);
      else this.#end.abort();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#cancelListening = () => signal?.removeEventListener('abort', onAbort);
    if (signal?.aborted === true) onAbort();
  }

  /** Aborts when no more time is left, for whichever reason. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Whether the caller asked for the end. */
  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Aborted, and nothing under way that would be worth finishing. */
  get isToEnd(): boolean {
    return this.#end.signal.aborted || (this.#isAborted && !this.mayBeDone);
  }

  /** ms */
  get remainingMs(): number {
    return this.#deadline - this.#clock.monotonic();
  }

  /** ms since it began */
  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  /** Resolves after `ms`, or at once when the operation ends. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#end.signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#clock.after(ms, done);
      this.#end.signal.addEventListener('abort', done, { once: true });
      if (this.#end.signal.aborted) done();
    });
  }

  /** Leaves no timer and no listener behind. */
  close(): void {
    this.#cancelDeadline();
    this.#cancelListening();
  }

  #shorten(ms: number): void {
    this.#cancelDeadline();
    this.#deadline = Math.min(this.#deadline, this.#clock.monotonic() + ms);
    this.#cancelDeadline = this.#clock.after(this.remainingMs, () => this.#end.abort());
  }
}
