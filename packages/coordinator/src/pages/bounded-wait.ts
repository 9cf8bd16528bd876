import type { Clock } from '@svc/shared/clock.ts';

/** How long a request waits for the database before it gets the data of the last read, ms. */
const PATIENCE_MS = 250;
/** How long a request waits when there is no earlier data, ms. */
const COLD_PATIENCE_MS = 3_000;

/** Bounded waits for a read of the database that several requests share. */
export type Patience = {
  /** Resolves when the read has ended, or after 250 ms: for requests that can use earlier data. */
  readonly late: Promise<void>;
  /** Resolves when the read has ended, or after 3 s: for requests without earlier data. */
  readonly tooLate: Promise<void>;
};

/** @param read resolves when the read has ended; it must not reject */
export function patienceWith(look: Promise<void>, clock: Pick<Clock, 'after'>): Patience {
  const within = (ms: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(ms, resolve);
    void look.then(() => {
      cancel();
      resolve();
    });
    return promise;
  };
  return { late: within(PATIENCE_MS), tooLate: within(COLD_PATIENCE_MS) };
}
