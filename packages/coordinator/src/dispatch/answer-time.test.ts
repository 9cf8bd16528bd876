import { expect, test } from 'vitest';
import { AnswerTime, LONGEST_TRIP_MS } from './answer-time.ts';

test('before an answer, the longest way is assumed', () => {
  const time = new AnswerTime();
  expect([time.isKnown, time.ms]).toEqual([false, LONGEST_TRIP_MS]);
});

test('the least time counts, whatever was lost on the way', () => {
  const time = new AnswerTime();
  for (const [index, ms] of [1_300, 600, 900].entries()) time.answered(ms, index);
  expect([time.isKnown, time.ms]).toEqual([true, 600]);
});

test('a longer way than any believed one is cut', () => {
  const time = new AnswerTime();
  time.answered(60_000, 0);
  expect(time.ms).toBe(LONGEST_TRIP_MS);
});

test('a shorter way counts at once, a longer one after two spans, and silence changes nothing', () => {
  const time = new AnswerTime();
  time.answered(600, 0);
  time.answered(20, 1_000);
  expect(time.ms).toBe(20);
  time.answered(600, 30_000);
  expect(time.ms).toBe(20);
  time.answered(700, 3_600_000);
  expect(time.ms).toBe(600);
});
