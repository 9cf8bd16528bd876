/** Units of a length of time with their lengths, ms, the longest first. */
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

export type TimeUnit = (typeof UNITS)[number][0];

/**
 * A length of time as whole numbers of its largest unit and of the next smaller unit. A unit with a count of
 * 0 is left out, so a length of less than a second gives an empty list.
 *
 * @param ms >= 0
 */
export function largestUnits(ms: number): { readonly unit: TimeUnit; readonly count: number }[] {
  const first = UNITS.findIndex(([, length]) => ms >= length);
  if (first < 0) return [];
  let rest = ms;
  return UNITS.slice(first, first + 2).flatMap(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? [] : [{ unit, count }];
  });
}

const SYMBOLS: Readonly<Record<TimeUnit, string>> = { day: 'd', hour: 'h', minute: 'min', second: 's' };

/**
 * A length of time as text in English: `1 h 5 min`, or `less than 1 s`.
 *
 * @param ms >= 0
 */
export function durationText(ms: number): string {
  const parts = largestUnits(ms).map(({ unit, count }) => `${count} ${SYMBOLS[unit]}`);
  return parts.length === 0 ? 'less than 1 s' : parts.join(' ');
}

/**
 * An instant in UTC with whole seconds: `2026-01-01 00:00:01 UTC`.
 *
 * @param at epoch ms
 */
export function utcText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
