/** A stream of a region that had no agent lately: room for what an agent that comes back has kept, bytes. */
const LEAST_USED_BYTES = 64 * 1024 ** 2;

/**
 * Bound of a region's stream, bytes: the regions that had an agent within 24 h share all there is equally, so
 * that none of them can take another's part. Others keep a little, so that what an agent brings along after
 * a long time is not dropped at the moment in which it comes.
 */
export function streamLimit(
  maxBytes: number,
  region: { readonly isActive: boolean; readonly activeRegions: number },
): number {
  const share = Math.floor(maxBytes / Math.max(1, region.activeRegions));
  return region.isActive ? share : Math.min(share, LEAST_USED_BYTES);
}
