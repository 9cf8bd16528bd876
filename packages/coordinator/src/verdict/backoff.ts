const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Time after queueing or replaying at which an undelivered alert is given up, ms. */
export const DELIVERY_LIFETIME_MS = 24 * 60 * MINUTE;

/** Longest wait that a receiver can ask for by `Retry-After`, ms. */
export const RETRY_AFTER_MAXIMUM_MS = 60 * MINUTE;

const JITTER = 0.25;

/**
 * Waits after the first, second, … failed attempt. Attempts are 0, 5 s, 15 s, 30 s, 1, 2, 5, 10, 20 and 30
 * min after the first one.
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

/** The wait after all further attempts. */
const LAST_WAIT_MS = 60 * MINUTE;

/** Wait after a failure of svc itself, ms. Such a failure is no attempt. */
export const OWN_FAILURE_WAIT_MS = 60_000;

export type FailedAttempt = {
  /** Attempts since the delivery was queued or replayed, this one included; >= 1. */
  attempts: number;
  /** Time that has passed since the delivery was queued or replayed, ms, >= 0. */
  ageMs: number;
  /** When this attempt ended, epoch ms. */
  now: number;
  /** The wait that the receiver asked for, ms. It only lengthens the wait, to an hour at most. */
  retryAfterMs?: number | undefined;
  /** Uniform in [0, 1). It spreads the attempts of many deliveries by ±25 %. */
  random: number;
};

/**
 * When a delivery is tried again (epoch ms), or null when it is given up.
 *
 * The waits are gaps, not instants, so that a lengthened wait never causes a burst of overdue attempts. The
 * last attempt is exactly at the end of the lifetime. A delivery that waited behind another one for its whole
 * lifetime still gets one attempt, because this function is called only after an attempt.
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
