import type { StoredIncident, StoredUpdate } from '../store/incidents/incidents.ts';
import type { StoredWindow } from '../store/incidents/maintenance-windows.ts';
import { newestUpdate } from '../verdict/incident-updates.ts';
import { nextOccurrence, type Occurrence, occurrencesIn } from '../verdict/maintenance-window.ts';
import { DAY_MS } from '../verdict/summary-range.ts';
import type { State } from '../web/design/states.ts';
import type { PublicIds } from './public-ids.ts';

/** An incident with the updates that operators wrote on it. */
export type WrittenIncident = StoredIncident & { readonly updates: readonly StoredUpdate[] };

/** The incidents and maintenance windows of operators that a page may show. */
export type PageNotes = {
  readonly incidents: readonly WrittenIncident[];
  readonly windows: readonly StoredWindow[];
};

/** How long before its beginning maintenance is shown, ms. */
const AHEAD_MS = 30 * DAY_MS;

/** One occurrence of a maintenance window. Instants are epoch ms. */
export type MaintenanceView = {
  /**
   * It stays the same from the announcement to the end, because programs that read pages recognise the
   * occurrence by its id.
   */
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly state: MaintenanceState;
  /** The states that the occurrence has had, each with its beginning, newest first. */
  readonly stages: readonly { readonly state: MaintenanceState; readonly at: number }[];
  /** The affected components that the page shows; empty: the page as a whole is affected. */
  readonly componentIds: readonly string[];
  readonly startsAt: number;
  readonly endsAt: number;
  /** When the occurrence last entered a state, or its window was last edited before the occurrence ended. */
  readonly updatedAt: number;
};

export type MaintenanceState = 'scheduled' | 'in_progress' | 'completed';

/** The ids of a component. They decide which notes are about the component. */
export type NotedComponent = { readonly id: string; readonly monitorId: number | null };

/**
 * The maintenance that a page shows, ordered by beginning: current occurrences, the next occurrence of each
 * window within 30 days, and occurrences that ended since `from`. A window is left out when it names neither
 * the page nor a monitor or component that the page shows.
 *
 * @param components that the page shows
 * @param from       epoch ms
 * @param now        epoch ms
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
          // A window without repetition keeps its id when it is postponed.
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
  /** Since when pages announce the occurrence, epoch ms. */
  readonly plannedAt: number;
};

/**
 * The occurrences of a window. Each occurrence is announced 30 days ahead, but not before the previous one
 * has ended.
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

/** The state that an open incident gives to a component; null: none. */
export function notedState(componentId: string, incident: WrittenIncident): State | null {
  if (incident.closed_at !== null || incident.impact === 'none') return null;
  const newest = newestUpdate(incident.updates);
  if (newest === null || newest.state === 'resolved') return null;
  return newest.componentIds.includes(Number(componentId)) ? incident.impact : null;
}
