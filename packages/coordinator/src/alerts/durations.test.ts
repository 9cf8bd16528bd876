import { expect, test } from 'vitest';
import { durationText, instantText, latencyText } from './durations.ts';

test.each([
  [0, 'less than 1 s'],
  [999, 'less than 1 s'],
  [1_000, '1 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [42 * 60_000 + 5_000, '42 min 5 s'],
  [3_600_000 + 5_000, '1 h'],
  [26 * 3_600_000, '1 d 2 h'],
  [400 * 86_400_000 + 60_000, '400 d'],
])('%i ms is %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test('a latency has one decimal', () => {
  expect([0, 123.4, 800, 1_234.56].map(latencyText)).toEqual(['0 ms', '123.4 ms', '800 ms', '1234.6 ms']);
});

test('an instant is in UTC', () => {
  expect(instantText(1_767_225_601_999)).toBe('2026-01-01 00:00:01 UTC');
});
