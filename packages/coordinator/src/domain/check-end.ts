/** What is reported of a check: its attempts, or the latency of the only one. ms. */
type Lasting = {
  readonly slot: number;
  readonly attempts: readonly { readonly started_ms: number; readonly latency: number }[];
  readonly latency?: number | undefined;
};

/**
 * When a check ended, on the slots' clock (whole epoch ms). Its agent's clock may be wrong, so it is counted
 * from the slot on, never after the report.
 *
 * @param reportedAt when it was reported, epoch ms
 */
export function checkEnd({ slot, attempts, latency }: Lasting, reportedAt: number): number {
  const last = attempts.at(-1);
  const lasted = last === undefined ? (latency ?? 0) : last.started_ms + last.latency;
  return Math.max(slot, Math.min(Math.ceil(slot + lasted), reportedAt));
}
