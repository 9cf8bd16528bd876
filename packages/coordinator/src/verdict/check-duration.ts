/**
 * The reported durations of a check, ms: start and latency of each attempt, or only `latency` if no attempts are
 * reported.
 */
type Lasting = {
  readonly attempts: readonly { readonly started_ms: number; readonly latency: number }[];
  readonly latency?: number | undefined;
};

/**
 * When a check ended, on the slots' clock (whole epoch ms). The agent's clock may be
 * wrong, so the duration is added to the slot. The end is never before the slot and,
 * if the report came after the slot, never after the report.
 *
 * @param reportedAt when the check was reported, epoch ms
 */
export function checkEnd(check: Lasting & { readonly slot: number }, reportedAt: number): number {
  return Math.max(check.slot, Math.min(Math.ceil(check.slot + lastedMs(check)), reportedAt));
}

/** Time from the start of the first attempt to the end of the last attempt, ms. */
export function lastedMs({ attempts, latency }: Lasting): number {
  const last = attempts.at(-1);
  return last === undefined ? (latency ?? 0) : last.started_ms + last.latency;
}

/** The waits between attempts, as in the agent's `runner.ts`. */
const FIRST_WAIT_MS = 250;
const GROWTH = 1.6;
const MAXIMUM_WAIT_MS = 5_000;
const JITTER = 0.2;

/**
 * Upper bound on the duration of one check, ms: every attempt lasts for its time-out, and every wait between attempts
 * lasts as long as the agent's longest one or longer (`attemptWaitMs` in the agent's `runner.ts`).
 *
 * @param timeoutMs bound on one attempt, > 0
 * @param retry     number of attempts after the first, >= 0
 */
export function longestCheckMs(timeoutMs: number, retry: number): number {
  let waitsMs = 0;
  for (let failed = 0; failed < retry; failed += 1) {
    waitsMs += Math.min(FIRST_WAIT_MS * GROWTH ** failed, MAXIMUM_WAIT_MS) * (1 + JITTER);
  }
  return Math.ceil((retry + 1) * timeoutMs + waitsMs);
}
