/** Decisions about retries, as pure functions. */

/** Shortest and longest wait between attempts, ms. `Retry-After` can ask for a longer one. */
export const SHORTEST_WAIT_MS = 250;
export const LONGEST_WAIT_MS = 10_000;

/**
 * The wait before the next attempt, ms. Its maximum doubles with each attempt, up to {@link LONGEST_WAIT_MS}.
 * The wait is random between half of the maximum and the maximum, which spreads callers that failed together.
 *
 * @param attempts attempts made so far, >= 1
 * @param random uniform in [0, 1)
 * @param askedMs the wait that the server requested with `Retry-After`; it only lengthens the wait, also
 *   beyond {@link LONGEST_WAIT_MS}
 */
export function waitBeforeRetry(attempts: number, random: number, askedMs = 0): number {
  const ceiling = Math.min(LONGEST_WAIT_MS, 2 * SHORTEST_WAIT_MS * 2 ** Math.min(attempts - 1, 30));
  const spread = (ceiling / 2) * (1 + random);
  if (askedMs <= spread) return spread;
  // Callers to which the server named the same instant must not all come at that instant.
  return askedMs + SHORTEST_WAIT_MS * random;
}

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3) as ms from now, at most `maximumMs`. It is 0 when the header
 * is absent, unreadable or in the past.
 *
 * @param now epoch ms
 */
export function retryAfterOf(header: string | null, now: number, maximumMs: number): number {
  const text = header?.trim() ?? '';
  const asked = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(asked) ? 0 : Math.min(maximumMs, Math.max(0, asked));
}

export type RetryClass =
  /** A success, or an error that is not retried. */
  | 'final'
  /** The server refused the request without any effect, because it received too many requests. */
  | 'rate-limited'
  /** The server or the connection to it failed. */
  | 'failed';

/** What the client does after an answer with this status. */
export function retryClassOf(status: number): RetryClass {
  if (status === 429) return 'rate-limited';
  return [500, 502, 503, 504].includes(status) ? 'failed' : 'final';
}
