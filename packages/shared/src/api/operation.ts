import type { Clock } from '../clock.ts';

export type OperationParts = {
  readonly clock: Clock;
  /** Maximum duration of the operation, ms. */
  readonly deadlineMs: number;
  /** Time limit after the caller's abort, ms, for a request that the server may have carried out. */
  readonly finishMs: number;
  readonly signal: AbortSignal | undefined;
  /**
   * Whether a request that the server may have carried out goes on after the caller's abort: see
   * `RequestOptions.whenAborted`.
   */
  readonly finishes: boolean;
};

/** One request with all its attempts and waits: its deadline, and the signal of its caller. */
export class Operation {
  /**
   * Whether the server may have carried out the request without telling the client: an attempt is in
   * progress, or an earlier one ended in a way that leaves this open, such as a time-out or an answer 502.
   * The client sets this member.
   */
  mayBeDone = false;
  /**
   * Since when attempts have failed one after another, monotonic ms; null: no attempt has failed since the
   * start or since the last answer 429.
   */
  failingSince: number | null = null;
  readonly #clock: Clock;
  readonly #end = new AbortController();
  readonly #startedAt: number;
  readonly #cancelListening: () => void;
  #deadline: number;
  #cancelDeadline: () => void;
  #isAborted = false;

  constructor({ clock, deadlineMs, finishMs, signal, finishes }: OperationParts) {
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

  /** Aborts when the operation has no time left, whatever the reason. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Whether the caller's signal was aborted. */
  get isAborted(): boolean {
    return this.#isAborted;
  }

  /**
   * Whether the operation should end now, because {@link signal} was aborted, or because its caller aborted
   * it and the server certainly did not carry out the request.
   */
  get isToEnd(): boolean {
    return this.#end.signal.aborted || (this.#isAborted && !this.mayBeDone);
  }

  /** Time until the deadline, ms; negative after it. */
  get remainingMs(): number {
    return this.#deadline - this.#clock.monotonic();
  }

  /** Time since the operation began, ms. */
  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  /** Resolves after `ms`, or as soon as {@link signal} aborts. */
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

  /** Removes the timer and the listener. */
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
