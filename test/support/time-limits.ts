/**
 * The time-outs of all tests. They end what hangs and measure nothing: a busy machine takes many times longer than a
 * quiet one. No test sets a shorter one of its own, which `test/time-limits.test.ts` looks after.
 */
export const TIME_LIMITS = {
  /** Of a test, and of a hook. */
  testMs: 600_000,
  /** Of `expect.poll`, shorter than a test so that what is missing is named. */
  pollMs: 300_000,
};
