import { SvcError } from '@svc/shared/errors.ts';

/** The calls that are not answered yet. Before a process ends, it answers them with {@link fail}. */
export class OpenCalls {
  readonly #open = new Set<(error: Error) => void>();

  get count(): number {
    return this.#open.size;
  }

  /**
   * Answers a call with the result of `work`, or with the error of {@link fail} if the process calls that
   * first.
   *
   * @param answer called exactly once
   */
  add<T>(work: Promise<T>, answer: (error: Error | null, value?: T) => void): void {
    const settle = (error: Error | null, value?: T): void => {
      if (!this.#open.delete(fail)) return;
      answer(error, value);
    };
    const fail = (error: Error): void => settle(error);
    this.#open.add(fail);
    work.then(
      (value) => settle(null, value),
      (error: unknown) =>
        settle(error instanceof Error ? error : new SvcError('call-failed', 'the call failed')),
    );
  }

  fail(error: Error): void {
    for (const each of [...this.#open]) each(error);
  }
}
