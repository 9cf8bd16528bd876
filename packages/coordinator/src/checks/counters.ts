import { DISPATCH_COUNTERS } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals, type ValuesOf } from '@svc/shared/metrics/values.ts';

/** Totals of dispatch since it was built; `DISPATCH_COUNTERS` explains each. */
export type DispatchCounters = ValuesOf<typeof DISPATCH_COUNTERS>;

export function newCounters(): DispatchCounters {
  return createTotals(DISPATCH_COUNTERS);
}
