import { newestUpdate } from '../domain/incident-updates.ts';
import { nextOccurrence, occurrencesIn } from '../domain/maintenance-window.ts';
import { DAY_MS } from '../domain/summary-range.ts';
import type { StoredIncident, StoredUpdate } from '../store/incidents.ts';
import type { StoredWindow } from '../store/maintenance-windows.ts';
import type { State } from '../web/design/states.ts';
import type { PublicIds } from './public-ids.ts';

/** An incident that people wrote about, with what they wrote on it. */
export type WrittenIncident = StoredIncident & { readonly updates: readonly StoredUpdate[] };

/** What people wrote that a page may show. */
export type PageNotes = {
  readonly incidents: readonly WrittenIncident[];
  readonly windows: readonly StoredWindow[];
};

/** How far ahead planned maintenance is shown, ms. */
const AHEAD_MS = 30 * DAY_MS;

/** A time of a maintenance window. Instants are epoch ms. */
export type MaintenanceView = {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly state: 'scheduled' | 'in_progress' | 'completed';
  /** Shown components that it affects; empty: the page as a whole. */
  readonly componentIds: readonly string[];
  readonly startsAt: number;
  readonly endsAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** A component as far as notes are about it. */
export type NotedComponent = { readonly id: string; readonly monitorId: number | null };

/**
 * The maintenance that a page shows, by its beginning: what is going on, the next time of each window within a month,
 * and what has ended since `from`. A window that is only about monitors and components that the page does not show is
 * left out.
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
      return timesOf(window, from, now).map(
        (time): MaintenanceView => ({
          id: `${publicId('window', window.id)}-${time.from.toString(36)}`,
          title: window.title,
          text: window.text,
          state: time.from > now ? 'scheduled' : time.until > now ? 'in_progress' : 'completed',
          componentIds: affected.map(({ id }) => id),
          startsAt: time.from,
          endsAt: time.until,
          createdAt: window.createdAt,
          updatedAt: window.updatedAt,
        }),
      );
    })
    .sort((one, other) => one.startsAt - other.startsAt);
}

function timesOf(window: StoredWindow, from: number, now: number) {
  const times = occurrencesIn(window, from, now + 1);
  const next = nextOccurrence(window, times.at(-1)?.until ?? now);
  const isSoon = next !== null && next.from > now && next.from <= now + AHEAD_MS;
  return isSoon ? [...times, next] : times;
}

/** The state that an incident which lasts gives to a component; null: none. */
export function notedState(componentId: string, incident: WrittenIncident): State | null {
  if (incident.closed_at !== null || incident.impact === 'none') return null;
  const newest = newestUpdate(incident.updates);
  if (newest === null || newest.state === 'resolved') return null;
  return newest.componentIds.includes(Number(componentId)) ? incident.impact : null;
}
