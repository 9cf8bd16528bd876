/** Pure decisions about trying again. */

/** Shortest and longest wait between attempts, ms. */
export const SHORTEST_WAIT_MS = 250;
export const LONGEST_WAIT_MS = 10_000;

/**
 * Wait before the next attempt, ms: it doubles, and a random half of it spreads callers that failed together.
 *
 * @param attempts made so far, >= 1
 * @param random uniform in [0, 1)
 * @param askedMs what the server asked for by `Retry-After`; it only lengthens the wait
 */
export function waitBeforeRetry(attempts: number, random: number, askedMs = 0): number {
  const ceiling = Math.min(LONGEST_WAIT_MS, 2 * SHORTEST_WAIT_MS * 2 ** Math.min(attempts - 1, 30));
  const spread = (ceiling / 2) * (1 + random);
  if (askedMs <= spread) return spread;
  // Those who were told the same instant must not all come at it.
  return askedMs + SHORTEST_WAIT_MS * random;
}

/**
 * `Retry-After` (RFC 9110, section 10.2.3) as ms from now, at most `maximumMs`; 0 when there is none
 * that can be read, or when it is past.
 *
 * @param now epoch ms
 */
export function retryAfterOf(header: string | null, now: number, maximumMs: number): number {
  const text = header?.trim() ?? '';
  const asked = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(asked) ? 0 : Math.min(maximumMs, Math.max(0, asked));
}

export type RetryClass =
  /** Final: a success, or an error that another attempt would meet as well. */
  | 'final'
  /** The server was asked too often; it did nothing. */
  | 'rate-limited'
  /** The server, or the way to it, failed. */
  | 'failed';

/** @param status of an answer */
export function verdictOf(status: number): RetryClass {
  if (status === 429) return 'rate-limited';
  return [500, 502, 503, 504].includes(status) ? 'failed' : 'final';
}
