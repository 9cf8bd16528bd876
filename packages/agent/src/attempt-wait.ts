const FIRST_MS = 250;
const GROWTH = 1.6;
const LONGEST_MS = 5_000;
const SPREAD = 0.2;

/**
 * The wait before the next attempt of a check: 250 ms × 1.6ⁿ ± 20 %, never above 5 s.
 *
 * The spread keeps the retries of many monitors on one failing host from arriving together.
 *
 * @param failures attempts that failed so far, >= 1
 * @param random   0 <= random < 1
 * @returns milliseconds, 200 to 5,000
 */
export function attemptWaitMs(failures: number, random: number): number {
  const middle = FIRST_MS * GROWTH ** (failures - 1);
  return Math.min(LONGEST_MS, middle * (1 - SPREAD + 2 * SPREAD * random));
}
