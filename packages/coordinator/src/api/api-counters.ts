import { API_COUNTERS } from '@svc/shared/metrics/serving-instruments.ts';
import { createTotals, type ValuesOf } from '@svc/shared/metrics/totals.ts';

/** The counters of the API. `API_COUNTERS` says what each number means. */
export type ApiCounters = ValuesOf<typeof API_COUNTERS>;

export function createApiCounters(): ApiCounters {
  return createTotals(API_COUNTERS);
}

export function countAnswer({ answers }: ApiCounters, status: number): void {
  const text = String(status);
  answers[isCounted(text, answers) ? text : 'other'] += 1;
}

/** An endpoint as metrics name it: requests to unknown paths, and their methods, would be series without number. */
export type CountedEndpoint = { readonly method: string; readonly route: string };

export const NO_ENDPOINT: CountedEndpoint = { method: 'other', route: 'other' };

/** @param tookMs from the request until its answer was made, ms */
export function countRequest(
  { requests, requestDuration }: ApiCounters,
  { method, route }: CountedEndpoint,
  status: number,
  tookMs: number,
): void {
  requests.add({ method, route, status: String(status) });
  requestDuration.record(tookMs / 1_000);
}

function isCounted(status: string, answers: ApiCounters['answers']): status is keyof typeof answers {
  return Object.hasOwn(answers, status);
}
