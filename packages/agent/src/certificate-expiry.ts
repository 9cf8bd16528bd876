const DAY_MS = 86_400_000;

/**
 * The message about a certificate that expires too soon. It is undefined when the certificate is valid for
 * long enough, when no limit is set, or when the attempt met no certificate.
 *
 * @param expiresAt epoch ms
 * @param days whole, > 0
 * @param wallNow epoch ms
 */
export function expiryNotice(
  expiresAt: number | undefined,
  days: number | undefined,
  wallNow: number,
): string | undefined {
  if (expiresAt === undefined || days === undefined) return undefined;
  const leftMs = expiresAt - wallNow;
  // NaN, an unreadable date, does not make a check degraded.
  if (!(leftMs < days * DAY_MS)) return undefined;
  return `the TLS certificate expires ${inDays(leftMs)}, on ${new Date(expiresAt).toISOString()}: sooner than in ${daysOf(days)}`;
}

function inDays(leftMs: number): string {
  return leftMs < DAY_MS ? 'within a day' : `in ${daysOf(Math.floor(leftMs / DAY_MS))}`;
}

function daysOf(count: number): string {
  return count === 1 ? '1 day' : `${count} days`;
}
