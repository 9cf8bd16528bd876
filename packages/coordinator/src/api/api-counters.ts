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

function isCounted(status: string, answers: ApiCounters['answers']): status is keyof typeof answers {
  return Object.hasOwn(answers, status);
}
