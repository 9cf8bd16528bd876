import type { Clock } from '@svc/shared/clock.ts';

/** How long a request waits for the database before it gets the data of the last read, ms. */
const SHORT_WAIT_MS = 250;
/** How long a request waits for the database when there is no earlier data, ms. */
const LONG_WAIT_MS = 3_000;

/** Two bounded waits for one read of the database. Several requests share the read. */
export type BoundedWait = {
  /** Resolves when the read has ended, or after 250 ms: for requests that can use earlier data. */
  readonly short: Promise<void>;
  /** Resolves when the read has ended, or after 3 s: for requests without earlier data. */
  readonly long: Promise<void>;
};

/** @param read resolves when the read has ended; it must not reject */
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
