import type { Clock } from '@svc/shared/clock.ts';

/** Time that requests wait for the database before they get what was last read, ms. */
const PATIENCE_MS = 250;
/** Time that requests wait where nothing was read yet, ms. */
const COLD_PATIENCE_MS = 3_000;

/** How long requests wait for one look at the database that they share. */
export type Patience = {
  /** Resolves when the look has taken long, or has ended: for whom something older will do. */
  readonly late: Promise<void>;
  /** Resolves when the look has taken very long, or has ended: for whom there is nothing older. */
  readonly tooLate: Promise<void>;
};

/** @param look resolves when the look has ended; it must not reject */
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
