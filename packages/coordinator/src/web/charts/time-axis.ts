/** Columns of time, from `from` (epoch ms) on. */
export type TimeColumns = { readonly from: number; readonly bucketMs: number; readonly count: number };

/** A label of the axis: the day or the time of the day, and where the day alone is not exact, the time below it. */
export type TimeTick = { readonly at: number; readonly text: string; readonly note: string | null };

/** Most distances between labels that a narrow screen has room for. */
const MOST_INTERVALS = 7;
const DAY_MS = 86_400_000;

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

/** Labels in UTC, evenly apart, at edges of columns: the first at the beginning, the last at the end. */
export function timeTicks({ from, bucketMs, count }: TimeColumns): TimeTick[] {
  const intervals = largestDivisor(count, MOST_INTERVALS);
  const width = (count * bucketMs) / intervals;
  const spanMs = count * bucketMs;
  return Array.from({ length: intervals + 1 }, (_, index) => {
    const at = from + index * width;
    if (spanMs <= DAY_MS) return { at, text: TIME.format(at), note: null };
    return { at, text: DAY.format(at), note: bucketMs < DAY_MS ? TIME.format(at) : null };
  });
}

/** @param count integer, > 0 */
function largestDivisor(count: number, most: number): number {
  for (let divisor = Math.min(count, most); divisor > 1; divisor -= 1) {
    if (count % divisor === 0) return divisor;
  }
  return 1;
}
