import type { Clock } from '@svc/shared/clock.ts';

/**
 * The clock of a process that may stand still, as with SIGSTOP. Time passes meanwhile, but nothing runs: timers and
 * what arrives wait, and come at once when the process goes on.
 */
export class FreezableClock implements Clock {
  readonly #clock: Clock;
  #waiting: (() => void)[] | null = null;
  /** When all that waited for the process has come, monotonic ms. */
  caughtUpAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isFrozen(): boolean {
    return this.#waiting !== null;
  }

  freeze(): void {
    this.#waiting ??= [];
  }

  /** One thing after the other comes, and what follows from it, before the next one does. */
  thaw(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    this.caughtUpAt = this.monotonic() + waiting.length;
    for (const [index, task] of waiting.entries()) this.#clock.after(index, () => this.run(task));
  }

  /** Runs the task in the process, at once unless the process stands still. */
  run(task: () => void): void {
    if (this.#waiting === null) task();
    else this.#waiting.push(task);
  }

  wall(): number {
    return this.#clock.wall();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(delayMs: number, task: () => void): () => void {
    let isCancelled = false;
    const cancel = this.#clock.after(delayMs, () =>
      this.run(() => {
        if (!isCancelled) task();
      }),
    );
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  every(intervalMs: number, task: () => void): () => void {
    let cancel = () => {};
    const run = () => {
      cancel = this.after(intervalMs, run);
      task();
    };
    cancel = this.after(intervalMs, run);
    return () => cancel();
  }
}
