import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timeTicks } from './time-axis.ts';

const NOON = Date.UTC(2026, 1, 27, 12);
const HOUR = 3_600_000;

test.each([
  ['an hour', 60_000, 60, ['12:00', '12:10', '12:20', '12:30', '12:40', '12:50', '13:00']],
  ['a day', HOUR / 2, 48, ['12:00', '16:00', '20:00', '00:00', '04:00', '08:00', '12:00']],
  ['90 days', 24 * HOUR, 90, ['27 Feb', '14 Mar', '29 Mar', '13 Apr', '28 Apr', '13 May', '28 May']],
])('labels of %s', (_name, bucketMs, count, texts) => {
  expect(timeTicks({ from: NOON, bucketMs, count }).map(({ text }) => text)).toEqual(texts);
});

test('labels of a week have the time below the day', () => {
  const ticks = timeTicks({ from: NOON, bucketMs: HOUR, count: 168 });
  expect(ticks.map(({ text, note }) => `${text} ${note}`).slice(0, 3)).toEqual([
    '27 Feb 12:00',
    '28 Feb 12:00',
    '1 Mar 12:00',
  ]);
});

test('labels are at edges of columns, evenly apart', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), (count) => {
      const ticks = timeTicks({ from: NOON, bucketMs: 60_000, count });
      expect(ticks.length).toBeLessThanOrEqual(8);
      expect(ticks[0]?.at).toBe(NOON);
      expect(ticks.at(-1)?.at).toBe(NOON + count * 60_000);
      for (const { at } of ticks) expect((at - NOON) % 60_000).toBe(0);
    }),
  );
});
