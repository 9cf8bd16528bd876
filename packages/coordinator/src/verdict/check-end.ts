/** The reported durations of a check, ms: its attempts, or the latency of the only one. */
type Lasting = {
  readonly attempts: readonly { readonly started_ms: number; readonly latency: number }[];
  readonly latency?: number | undefined;
};

/**
 * When a check ended, on the slots' clock (whole epoch ms). Its agent's clock may be wrong, so the time is
 * counted from the slot. It is never after the report.
 *
 * @param reportedAt when it was reported, epoch ms
 */
export function checkEnd(check: Lasting & { readonly slot: number }, reportedAt: number): number {
  return Math.max(check.slot, Math.min(Math.ceil(check.slot + lastedMs(check)), reportedAt));
}

/** Time from the beginning of the first attempt to the end of the last, ms. */
export function lastedMs({ attempts, latency }: Lasting): number {
  const last = attempts.at(-1);
  return last === undefined ? (latency ?? 0) : last.started_ms + last.latency;
}
