import type { StoredIncident, StoredUpdate } from '../store/incidents/incidents.ts';
import type { StoredWindow } from '../store/incidents/maintenance-windows.ts';
import { newestUpdate } from '../verdict/incident-updates.ts';
import { nextOccurrence, type Occurrence, occurrencesIn } from '../verdict/maintenance-window.ts';
import { DAY_MS } from '../verdict/summary-range.ts';
import type { State } from '../web/design/states.ts';
import type { PublicIds } from './public-ids.ts';

/** An incident with the updates that operators wrote about it. */
export type WrittenIncident = StoredIncident & { readonly updates: readonly StoredUpdate[] };

/** The incidents and maintenance windows of operators that a page may have to show. */
export type PageNotes = {
  readonly incidents: readonly WrittenIncident[];
  readonly windows: readonly StoredWindow[];
};

/** Pages show a maintenance from this time before its beginning, ms. */
const AHEAD_MS = 30 * DAY_MS;

/** One occurrence of a maintenance window. Instants are epoch ms. */
export type MaintenanceView = {
  /**
   * The id stays the same from the announcement to the end, because
   * programs that read pages recognise the occurrence by its id.
   */
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly state: MaintenanceState;
  /** The states of the occurrence so far, newest first, each with the instant at which it began. */
  readonly stages: readonly { readonly state: MaintenanceState; readonly at: number }[];
  /** The affected components that the page shows; empty: the page as a whole is affected. */
  readonly componentIds: readonly string[];
  readonly startsAt: number;
  readonly endsAt: number;
  /**
   * When the occurrence last changed its state. If its window was edited
   * later, and the occurrence has not ended, when the window was edited.
   */
  readonly updatedAt: number;
};

export type MaintenanceState = 'scheduled' | 'in_progress' | 'completed';

/** The ids by which notes refer to a component. */
export type NotedComponent = { readonly id: string; readonly monitorId: number | null };

/**
 * Returns the maintenance that a page shows, ordered by beginning: current occurrences, the next
 * occurrence of each window within 30 days, and occurrences that ended after `from`. A window is
 * left out if it names neither the page nor a component or monitor that the page shows.
 *
 * @param components the components that the page shows
 * @param from epoch ms
 * @param now epoch ms
 */
export function maintenanceViews(
  windows: readonly StoredWindow[],
  pageId: number,
  components: readonly NotedComponent[],
  { from, now, publicId }: { readonly from: number; readonly now: number; readonly publicId: PublicIds },
): MaintenanceView[] {
  return windows
    .flatMap((window) => {
      const affected = components.filter(
        ({ id, monitorId }) =>
          window.componentIds.includes(Number(id)) ||
          (monitorId !== null && window.monitorIds.includes(monitorId)),
      );
      if (affected.length === 0 && !window.pageIds.includes(pageId)) return [];
      const id = publicId('window', window.id);
      return timesOf(window, from, now).map((time): MaintenanceView => {
        const stages = stagesOf(time, now);
        const { state, at } = stages[0];
        return {
          // A window without repetition keeps its id when people postpone it.
          id: window.repeat === null ? id : `${id}-${time.from.toString(36)}`,
          title: window.title,
          text: window.text,
          state,
          stages,
          componentIds: affected.map((component) => component.id),
          startsAt: time.from,
          endsAt: time.until,
          updatedAt: state === 'completed' ? at : Math.max(at, window.updatedAt),
        };
      });
    })
    .sort((one, other) => one.startsAt - other.startsAt);
}

type Planned = Occurrence & {
  /** When pages began to announce the occurrence, epoch ms. */
  readonly plannedAt: number;
};

/**
 * Returns the occurrences of a window. An occurrence is announced 30 days ahead, but
 * not before the window was created, and not before the previous occurrence has ended.
 */
function timesOf(window: StoredWindow, from: number, now: number): Planned[] {
  const times = occurrencesIn(window, from - AHEAD_MS, now + 1);
  const next = nextOccurrence(window, times.at(-1)?.until ?? now);
  if (next !== null && next.from > now && next.from <= now + AHEAD_MS) times.push(next);
  return times
    .map((time, index) => {
      const before = times[index - 1]?.until ?? 0;
      const plannedAt = Math.max(window.createdAt, before, time.from - AHEAD_MS);
      return { ...time, plannedAt: Math.min(plannedAt, time.from) };
    })
    .filter(({ until }) => until > from);
}

type Stages = readonly [MaintenanceView['stages'][number], ...MaintenanceView['stages']];

function stagesOf({ plannedAt, from, until }: Planned, now: number): Stages {
  const scheduled = { state: 'scheduled', at: plannedAt } as const;
  if (from > now) return [scheduled];
  const begun = { state: 'in_progress', at: from } as const;
  return until > now ? [begun, scheduled] : [{ state: 'completed', at: until }, begun, scheduled];
}

/**
 * Returns the state that an incident gives to a component;
 * null: it gives no state, for example because it has ended.
 */
export function notedState(componentId: string, incident: WrittenIncident): State | null {
  if (incident.closed_at !== null || incident.impact === 'none') return null;
  const newest = newestUpdate(incident.updates);
  if (newest === null || newest.state === 'resolved') return null;
  return newest.componentIds.includes(Number(componentId)) ? incident.impact : null;
}
