import { expect, test } from 'vitest';
import { longestCheckMs } from './check-duration.ts';

test.each([
  ['one attempt is its time-out', 45_000, 0, 45_000],
  ['one retry adds its time-out and the longest first wait', 1_000, 1, 2_300],
  ['waits grow by 1.6', 1_000, 3, 4_000 + 300 + 480 + 768],
])('%s', (_, timeoutMs, retry, expected) => {
  expect(longestCheckMs(timeoutMs, retry)).toBe(expected);
});

test('waits grow up to five seconds and their spread', () => {
  expect(longestCheckMs(1, 10) - longestCheckMs(1, 9)).toBe(6_001);
});
