/** Units of durations, the longest first. */
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/**
 * A duration for people: its two largest units, `1 h 5 min`.
 *
 * @param ms >= 0
 */
export function durationText(ms: number): string {
  const first = UNITS.findIndex(([, unitMs]) => ms >= unitMs);
  if (first < 0) return 'less than 1 s';
  const parts: string[] = [];
  let left = ms;
  for (const [name, unitMs] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(left / unitMs);
    left -= count * unitMs;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(' ');
}

/** A latency for people: milliseconds with at most one decimal, `123.4 ms`. */
export function latencyText(ms: number): string {
  return `${Math.round(ms * 10) / 10} ms`;
}

/** An instant for people, in UTC with whole seconds: `2026-01-01 00:00:01 UTC`. */
export function instantText(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
