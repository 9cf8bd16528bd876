import type { Region } from '@svc/shared/regions.ts';

/** What the oracle notes when an evaluation ends. It is shown the outcome later: with its commit. */
export type Moment = {
  /** The regions that had an agent within 24 h. */
  readonly electable: ReadonlySet<Region>;
  /** Whether a backlog forbids announcements. */
  readonly isHeld: boolean;
  /** Whether the last backlog was over long enough before, so that all channels know the status then. */
  readonly isOver: boolean;
  /** Whether it was over so long before that they knew it already. */
  readonly wasOver: boolean;
};
