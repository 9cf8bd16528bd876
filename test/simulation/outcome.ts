import type { Violation } from './oracle/oracle.ts';
import type { OutageCounts } from './outages.ts';

/** A line of the story: an instant (ms after the beginning) and what happened then. */
export type Line = { readonly at: number; readonly text: string };

export type Outcome = {
  readonly violations: readonly Violation[];
  readonly events: number;
  readonly confirmed: number;
  readonly unannounced: number;
  readonly announcements: number;
  readonly outages: OutageCounts;
  readonly story: readonly Line[];
};
