/**
 * Bound on the stream of a region without a recent agent, bytes: room for the results that a returning agent
 * has kept.
 */
const LEAST_USED_BYTES = 64 * 1024 ** 2;

/**
 * Bound on a region's stream, bytes. The regions that had an agent within 24 h share the limit equally, so
 * that no region can take another's part. Other regions keep a little, so that the results of an agent that
 * returns after a long time are not dropped at once.
 */
export function streamLimit(
  maxBytes: number,
  region: { readonly isActive: boolean; readonly activeRegions: number },
): number {
  const share = Math.floor(maxBytes / Math.max(1, region.activeRegions));
  return region.isActive ? share : Math.min(share, LEAST_USED_BYTES);
}
