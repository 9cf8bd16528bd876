import type { Attempt } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { WindowTimes } from '../domain/maintenance-window.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import type { RegionSet } from '../domain/region-set.ts';
import type { VoteOutcome } from '../domain/status.ts';
import type { Link } from './state.ts';

/*
 * The journal of the evaluation: everything that it is told about a monitor, so that a replay can tell it again
 * in the same order and at the same instants (decision 0153).
 *
 * The outcomes of regions are journalled in their result rows: when each was evaluated, its place among events
 * of the same ms, and the regions that were given its slot. Everything else is an entry. An event that only
 * opens a slot needs none, because the first row of the slot says so.
 */

/** The part of a declaration that the evaluation uses. */
export type JournalledMonitor = Pick<
  LiveMonitor,
  'active' | 'periodMs' | 'regions' | 'version' | 'degradedAtMs' | 'longestCheckMs' | 'activatedAt'
>;

export type JournalledLink = Pick<Link, 'notificationId' | 'providerType'>;

/** A change of the declaration of one monitor. */
export type JournalledChange =
  | { readonly kind: 'monitor'; readonly monitor: JournalledMonitor }
  | ({ readonly kind: 'linked' | 'channel' } & JournalledLink)
  | { readonly kind: 'unlinked' | 'channel-removed'; readonly notificationId: number };

/** `given` is null where nobody has said yet which regions were given the slot. */
type OfSlot = { readonly slot: number; readonly given: RegionSet | null };

export type JournalEvent =
  /** The slot was given out, and decided before anybody answered. */
  | ({ readonly is: 'opened' } & OfSlot)
  /** The region reported that it did not run the check. */
  | ({ readonly is: 'answered'; readonly region: Region } & OfSlot)
  /** The region abstained or was skipped. */
  | ({ readonly is: 'excused'; readonly region: Region } & OfSlot)
  /** After a restart, only these regions may still report the slot. */
  | { readonly is: 'resumed'; readonly slot: number; readonly waitedFor: RegionSet }
  /** After a restart, other slots wait for no region. */
  | { readonly is: 'resumed-all' }
  /** Time alone decided a slot or changed the status. */
  | { readonly is: 'due' }
  /** From here on announcements are held back, until the next `announced`. */
  | { readonly is: 'held' }
  /** A maintenance window of the monitor is from now on like this; null: there is none. */
  | {
      readonly is: 'maintenance';
      readonly windowId: number;
      readonly times: WindowTimes | null;
      readonly before: WindowTimes | null;
    }
  /** Channels are told what they have not been told. */
  | { readonly is: 'announced' }
  | {
      readonly is: 'declared';
      readonly change: JournalledChange;
      /** The declaration until then; null: the monitor did not exist. */
      readonly before: JournalledMonitor | null;
      readonly linksBefore: readonly JournalledLink[];
    };

/** What is the same for all monitors; an entry of its own whenever it changes. */
export type Surroundings = {
  readonly is: 'surroundings';
  /** Regions that had an agent within 24 h. */
  readonly electable: RegionSet;
  /** The clock of the votes' ages minus the slots' clock, ms. */
  readonly ageAheadMs: number;
  /** The clock of the slots' deadlines minus the slots' clock, ms. */
  readonly monotonicAheadMs: number;
  /** End of the last jump of the slots' clock, on the clock of the votes' ages, ms; null: there was none. */
  readonly jumpedAt: number | null;
  /** Whether states were restored from rows just before. */
  readonly isStart: boolean;
  /**
   * The newest recorded slot, where it lies so far ahead that the clock must have been set back since, epoch ms;
   * null: none does. Until then, instants of before the start and of after it cannot be told apart.
   */
  readonly aheadSlot: number | null;
  /** Whether slots of all monitors are decided when their time is up. */
  readonly isResumed: boolean;
};

/** Id under which the entries of {@link Surroundings} are stored. No monitor has it. */
export const EVERY_MONITOR = 0;

export type JournalEntry = {
  readonly monitorId: number;
  /** The slots' clock, epoch ms. */
  readonly at: number;
  /** Place among the entries and rows of the monitor with the same `at`. */
  readonly place: number;
  readonly event: JournalEvent | Surroundings;
};

/** An outcome as it was recorded, with its part of the journal. */
export type JournalledRow = {
  /** When it was evaluated, epoch ms on the slots' clock. */
  readonly at: number;
  /** Its place among the rows and entries of the same instant. */
  readonly place: number;
  readonly slot: number;
  readonly region: Region;
  readonly outcome: VoteOutcome;
  readonly version: number;
  /** ms */
  readonly latency: number | null;
  readonly statusCode: number | null;
  readonly errorMessage: string | null;
  /** Absent where a single attempt was the whole check. */
  readonly attempts: readonly Attempt[];
  /** As `results.given` has it. */
  readonly given: number | null;
};
