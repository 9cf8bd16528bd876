/** A limit on sends: as many as `burst` at once, and `perMinute` in the long run. */
export type Rate = {
  /** > 0 */
  readonly perMinute: number;
  /** Whole, >= 1. */
  readonly burst: number;
};
