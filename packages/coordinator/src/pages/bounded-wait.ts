import type { Clock } from '@svc/shared/clock.ts';

/** How long a request waits for the database if it can use the data of an earlier read, ms. */
const SHORT_WAIT_MS = 250;
/** How long a request waits for the database if there is no earlier data, ms. */
const LONG_WAIT_MS = 3_000;

/** Two bounded waits for one read of the database. Several requests share the read. */
export type BoundedWait = {
  /** Resolves when the read has ended, or after 250 ms. Requests that can use earlier data wait for it. */
  readonly short: Promise<void>;
  /** Resolves when the read has ended, or after 3 s. Requests without earlier data wait for it. */
  readonly long: Promise<void>;
};

/**
 * Makes a short and a long wait for the end of a read.
 *
 * @param read resolves when the read has ended; must not reject
 */
export function boundedWait(read: Promise<void>, clock: Pick<Clock, 'after'>): BoundedWait {
  const within = (ms: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(ms, resolve);
    void read.then(() => {
      cancel();
      resolve();
    });
    return promise;
  };
  return { short: within(SHORT_WAIT_MS), long: within(LONG_WAIT_MS) };
}
