const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Time from the queueing or replaying of an alert after which svc gives it up, ms. */
export const DELIVERY_LIFETIME_MS = 24 * 60 * MINUTE;

/** Longest wait that a receiver can ask for by `Retry-After`, ms. */
export const RETRY_AFTER_MAXIMUM_MS = 60 * MINUTE;

const JITTER = 0.25;

/**
 * Waits after the first, second, … ninth failed attempt, ms. Without jitter, and if
 * attempts took no time, the next attempts would come 5 s, 15 s, 30 s, 1 min, 2 min,
 * 5 min, 10 min, 20 min and 30 min after the first.
 */
const WAITS_MS = [
  5 * SECOND,
  10 * SECOND,
  15 * SECOND,
  30 * SECOND,
  1 * MINUTE,
  3 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  10 * MINUTE,
];

/** Wait after the tenth failed attempt and after each later one, ms. */
const LAST_WAIT_MS = 60 * MINUTE;

/** Wait after a failure of svc itself, ms. Such a failure does not count as an attempt. */
export const OWN_FAILURE_WAIT_MS = 60_000;

export type FailedAttempt = {
  /** Number of attempts since the delivery was queued or replayed, including the failed attempt; >= 1. */
  attempts: number;
  /** Time that has passed since the delivery was queued or replayed, ms, >= 0. */
  ageMs: number;
  /** When this attempt ended, epoch ms. */
  now: number;
  /**
   * The wait that the receiver asked for, ms. It can only lengthen the wait, up to
   * {@link RETRY_AFTER_MAXIMUM_MS}.
   */
  retryAfterMs?: number | undefined;
  /**
   * A random number, uniform in [0, 1). It changes the wait by up to ±25 %, so that
   * the attempts of many deliveries are spread.
   */
  random: number;
};

/**
 * Returns when a delivery is tried again, epoch ms; null: the delivery is given up.
 *
 * Each wait is counted from the end of the attempt before, not from the time of queueing. So a lengthened
 * wait never causes a burst of overdue attempts. The last attempt is due exactly at the end of the lifetime.
 * A delivery that waited behind another delivery for its whole lifetime still gets one attempt, because this
 * function is called only after an attempt.
 */
export function nextAttemptAt(failed: FailedAttempt): number | null {
  const leftMs = DELIVERY_LIFETIME_MS - failed.ageMs;
  if (leftMs <= 0) return null;
  const end = failed.now + leftMs;
  const wait = WAITS_MS[failed.attempts - 1] ?? LAST_WAIT_MS;
  const spread = wait * (1 - JITTER + 2 * JITTER * failed.random);
  const asked = Math.min(failed.retryAfterMs ?? 0, RETRY_AFTER_MAXIMUM_MS);
  return Math.min(end, Math.round(failed.now + Math.max(spread, asked)));
}
