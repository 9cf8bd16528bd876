const FIRST_WAIT_MS = 250;
const GROWTH = 1.6;
const MAXIMUM_WAIT_MS = 5_000;
const JITTER = 0.2;

/**
 * Upper bound on the duration of one check, ms: every attempt lasts for its time-out, and all waits between
 * them have their longest length.
 *
 * @param timeoutMs bound on one attempt, > 0
 * @param retry     attempts after the first, >= 0
 */
export function longestCheckMs(timeoutMs: number, retry: number): number {
  let waitsMs = 0;
  for (let failed = 0; failed < retry; failed += 1) {
    waitsMs += Math.min(FIRST_WAIT_MS * GROWTH ** failed, MAXIMUM_WAIT_MS) * (1 + JITTER);
  }
  return Math.ceil((retry + 1) * timeoutMs + waitsMs);
}
