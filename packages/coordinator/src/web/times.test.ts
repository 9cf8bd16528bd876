import { expect, test } from 'vitest';
import { latencyText, percentage } from './figures.ts';
import { ageText, durationText, instant, withInstants } from './times.ts';

const AT = Date.UTC(2026, 10, 22, 14, 3, 5);

test('an instant is in UTC, and is marked so', () => {
  expect(String(instant(AT))).toBe(
    '<time datetime="2026-11-22T14:03:05.000Z" data-show="instant">22 Nov 2026, 14:03 UTC</time>',
  );
  expect(String(instant(AT, 'de'))).toContain('>22.11.2026, 14:03 UTC<');
});

test('instants in a text of the API are shown like others; what only looks like one stays', () => {
  expect(String(withInstants('<b> since 2026-11-22 14:03:05 UTC; 2026-99-22 14:03:05 UTC'))).toBe(
    `&lt;b&gt; since ${instant(AT)}; 2026-99-22 14:03:05 UTC`,
  );
});

test.each([
  [0, 'now'],
  [999, 'now'],
  [-1_000, '1 second ago'],
  [-59_999, '59 seconds ago'],
  [-60_000, '1 minute ago'],
  [-3 * 3_600_000, '3 hours ago'],
  [-86_400_000, 'yesterday'],
  [-40 * 86_400_000, 'last month'],
  [2 * 3_600_000, 'in 2 hours'],
])('an age of %d ms is %s', (passed, expected) => {
  expect(ageText(AT + passed, AT)).toBe(expected);
});

test.each([
  [0, '0 sec'],
  [59_999, '59 sec'],
  [60_000, '1 min'],
  [90_000, '1 min 30 sec'],
  [3_600_000, '1 hr'],
  [3_601_000, '1 hr'],
  [90_061_000, '1 day 1 hr'],
])('a time of %d ms is %s', (ms, expected) => {
  expect(durationText(ms)).toBe(expected);
});

test.each([
  [1, '100.00%'],
  [0.999999, '99.99%'],
  [0.9998, '99.98%'],
  [0, '0.00%'],
  [null, '–'],
])('a share of %d is %s: rounded down, never up', (share, expected) => {
  expect(percentage(share)).toBe(expected);
});

test.each([
  [0.4, '0.4 ms'],
  [84.2, '84 ms'],
  [1_254, '1.25 sec'],
  [null, '–'],
])('a latency of %d ms is %s', (ms, expected) => {
  expect(latencyText(ms)).toBe(expected);
});
