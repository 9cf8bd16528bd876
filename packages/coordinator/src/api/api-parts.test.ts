import { expect, test } from 'vitest';
import { countAnswer, createApiCounters } from './api-parts.ts';
import { PROBLEMS } from './problem.ts';

test.each([200, 201, 202, 204, 304, ...new Set(Object.values(PROBLEMS).map(({ status }) => status))])(
  'answers with status %i are counted under it',
  (status) => {
    const counters = createApiCounters();
    countAnswer(counters, status);
    expect(counters.answers).toMatchObject({ [status]: 1, other: 0 });
  },
);

test('a status that no answer of svc has is counted as other', () => {
  const counters = createApiCounters();
  for (const status of [418, Number.NaN]) countAnswer(counters, status);
  expect(counters.answers.other).toBe(2);
});
