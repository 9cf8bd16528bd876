import type { Region } from '@svc/shared/regions.ts';

/**
 * The facts that the oracle needs from the end of an evaluation. The
 * outcome of the evaluation is shown to the oracle later, after its commit.
 */
export type Moment = {
  /** The regions that had an agent within 24 h. */
  readonly electable: ReadonlySet<Region>;
  /** Whether a backlog holds announcements. */
  readonly isHeld: boolean;
  /**
   * Whether the last backlog ended so long ago that all channels must know the status after this evaluation.
   */
  readonly isOver: boolean;
  /**
   * Whether the last backlog ended so long ago that all
   * channels must have known the status before this evaluation.
   */
  readonly wasOver: boolean;
};
