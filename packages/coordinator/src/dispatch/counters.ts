import { DISPATCH_COUNTERS } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals, type ValuesOf } from '@svc/shared/metrics/totals.ts';

/** What dispatch has done since it was built; what each number means is in `DISPATCH_COUNTERS`. */
export type DispatchCounters = ValuesOf<typeof DISPATCH_COUNTERS>;

export function newCounters(): DispatchCounters {
  return createTotals(DISPATCH_COUNTERS);
}
