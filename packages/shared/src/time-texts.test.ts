import { expect, test } from 'vitest';
import { durationText, utcText } from './time-texts.ts';

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

test('an instant is in UTC', () => {
  expect(utcText(1_767_225_601_999)).toBe('2026-01-01 00:00:01 UTC');
});
