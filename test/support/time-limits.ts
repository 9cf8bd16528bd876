/**
 * The time-outs of all tests. They end tests that hang, and measure nothing: a busy machine takes many times
 * longer than a quiet one. No test sets a shorter one, which `test/time-limits.test.ts` checks.
 */
export const TIME_LIMITS = {
  /** Time-out of a test, and of a hook. */
  testMs: 600_000,
  /** Time-out of `expect.poll`. It is shorter than that of a test, so that the missing state is named. */
  pollMs: 300_000,
};
