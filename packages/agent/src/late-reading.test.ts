import { expect, test } from 'vitest';
import { LateReading } from './late-reading.ts';

const SENT = 1_795_000_000_000;

/** Messages that are read so late, after a way of 20 ms, in a loop that stands still for so long; one a second. */
function read(lateMs: readonly number[], stallMs: number): number[] {
  const lateReading = new LateReading({ stallMs: () => stallMs });
  return lateMs.map((late, second) =>
    lateReading.of(SENT + second * 1_000, 5_000 + second * 1_000 + 20 + late),
  );
}

test('what the quickest message did not need is time in which a message was unread', () => {
  expect(read([0, 150, 30, 0], 200)).toEqual([0, 150, 30, 0]);
});

test('it is no longer than the event loop has stood still', () => {
  expect(read([0, 150, 30], 100)).toEqual([0, 100, 30]);
  expect(read([0, 3_600_000], 0)).toEqual([0, 0]);
});

test('the first message tells nothing, and each quicker one is what others are compared with', () => {
  expect(read([100, 150, 20, 100], 500)).toEqual([0, 50, 0, 80]);
});

test('a way that has become longer is usual after a minute', () => {
  const late = [0, ...Array.from({ length: 65 }, () => 80)];
  const found = read(late, 500);
  expect(found.slice(1, 30)).toEqual(Array.from({ length: 29 }, () => 80));
  expect(found.at(-1)).toBe(0);
});

test('a way of long ago tells nothing: the clocks have drifted since', () => {
  const lateReading = new LateReading({ stallMs: () => 500 });
  const found = [0, 1, 2].map((hour) =>
    lateReading.of(SENT + hour * 3_600_000, 5_000 + hour * 3_600_090 + 20),
  );
  expect(found).toEqual([0, 0, 0]);
});
