import type { Clock } from '@svc/shared/clock.ts';

/**
 * The clock of a process that may stand still, as after SIGSTOP. Time passes meanwhile,
 * but nothing runs. Timers and messages wait, and come as soon as the process continues.
 */
export class FreezableClock implements Clock {
  readonly #clock: Clock;
  #waiting: (() => void)[] | null = null;
  /** When all tasks that waited for the process have run, monotonic ms. */
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

  /**
   * Lets the process continue. The waiting tasks run one after the other,
   * 1 ms apart, so that the consequences of one task run before the next task.
   */
  thaw(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    this.caughtUpAt = this.monotonic() + waiting.length;
    for (const [index, task] of waiting.entries()) this.#clock.after(index, () => this.run(task));
  }

  /** Runs the task in the process: at once, or when the process continues. */
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
