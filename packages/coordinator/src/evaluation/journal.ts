import type { LiveMonitor } from '../domain/monitor.ts';
import { NO_REGIONS, type RegionSet, regionSet } from '../domain/region-set.ts';
import type { Frame } from './frame.ts';
import type { JournalEvent, JournalledLink, JournalledMonitor } from './journal-entry.ts';
import { type Link, type MonitorState, openSlotOf } from './state.ts';
import type { ReportedResult } from './writes.ts';

/* Writes the journal while the evaluation goes on; `journal-entry.ts` says what is in it. */

/** Adds an entry. Its place follows from the order of the calls. */
export function note(frame: Frame, state: MonitorState, event: JournalEvent): void {
  const at = frame.instants.slotNow;
  frame.writes.journal.push({ monitorId: state.id, at, place: nextPlace(state, at), event });
}

/** Dates the row of an outcome, after it was evaluated. `given` is from before. */
export function noteRow(
  frame: Frame,
  state: MonitorState,
  row: ReportedResult,
  given: RegionSet | null,
): void {
  row.evaluatedPlace = nextPlace(state, frame.instants.slotNow);
  row.given = given;
}

/**
 * The given regions of a slot as an event is about to mention it. From then on a row or an entry knows the slot.
 * Null: nobody has named them yet, or the slot is not open.
 */
export function mentioned(state: MonitorState, slot: number): RegionSet | null {
  const open = openSlotOf(state, slot);
  if (open === undefined) return null;
  open.isMentioned = true;
  return open.isGivenKnown ? open.given : null;
}

/** What `results.given` holds: null for exactly the declared regions, which is the rule, and 0 for unknown. */
export function givenColumn(
  given: RegionSet | null,
  { regions }: Pick<LiveMonitor, 'regions'>,
): RegionSet | null {
  if (given === null) return NO_REGIONS;
  return regions !== null && given === regionSet(regions) ? null : given;
}

/** The given regions that a row of a monitor with these declared regions means; null: unknown. */
export function givenOfColumn(
  column: number | null,
  { regions }: Pick<LiveMonitor, 'regions'>,
): RegionSet | null {
  if (column === null) return regions === null ? null : regionSet(regions);
  return column === NO_REGIONS ? null : column;
}

export function journalledMonitor(monitor: LiveMonitor): JournalledMonitor {
  const { active, periodMs, regions, version, degradedAtMs, longestCheckMs, activatedAt } = monitor;
  return { active, periodMs, regions, version, degradedAtMs, longestCheckMs, activatedAt };
}

export function journalledLinks(links: readonly Link[]): JournalledLink[] {
  return links.map(({ notificationId, providerType }) => ({ notificationId, providerType }));
}

function nextPlace(state: MonitorState, at: number): number {
  state.journalPlace = state.journalledAt === at ? state.journalPlace + 1 : 0;
  state.journalledAt = at;
  return state.journalPlace;
}
