import { type Impact, newestUpdate, stateOf, type UpdateState } from '../domain/incident-updates.ts';
import { occurrencesIn } from '../domain/maintenance-window.ts';
import { type StoredIncident, type StoredUpdate, updatesOf, writtenIncidents } from '../store/incidents.ts';
import { type StoredWindow, windowsOfPage } from '../store/maintenance-windows.ts';
import { componentsShownOn, type ShownComponent, versionOfNotes } from '../store/notes-of-page.ts';
import type { Store } from '../store/store.ts';

/** How far ahead pages announce maintenance, ms. */
const AHEAD_MS = 14 * 24 * 3_600_000;
/** Most occurrences of one window in a list: one that repeats daily has some thirty. */
const MOST_OCCURRENCES = 50;

/** What people wrote about an incident, as a page shows it. Instants are epoch ms. */
type NotedIncident = {
  readonly id: string;
  /** The `incident` of the monitor's changes of status; null: people wrote it themselves. */
  readonly key: string | null;
  /** Null: it has the name of its monitor. */
  readonly title: string | null;
  readonly state: UpdateState;
  /** The state that it gives to the components while it lasts. */
  readonly impact: Exclude<Impact, 'none'> | 'operational';
  readonly componentIds: readonly string[];
  readonly startedAt: number;
  /** Null: it lasts. */
  readonly endedAt: number | null;
  /** Newest first. */
  readonly updates: readonly {
    readonly id: string;
    readonly at: number;
    readonly state: UpdateState;
    readonly text: string;
  }[];
};

/** A maintenance window as a page shows it; each occurrence of a repeating window is one. Instants are epoch ms. */
type NotedMaintenance = {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly state: 'scheduled' | 'in_progress' | 'completed';
  readonly componentIds: readonly string[];
  readonly startsAt: number;
  readonly endsAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** What people wrote on a page: incidents newest first, maintenance by its beginning. */
type PageNotes = {
  readonly incidents: readonly NotedIncident[];
  readonly maintenance: readonly NotedMaintenance[];
};

/** Reads the notes of status pages. */
export class PageNotesReader {
  readonly #store: Pick<Store, 'read'>;

  constructor(store: Pick<Store, 'read'>) {
    this.#store = store;
  }

  /** A text that changes with each commit that changes the notes of the page, and not with time. */
  version(pageId: number): Promise<string> {
    return versionOfNotes(this.#store, pageId);
  }

  /**
   * The notes of the page that last, that come within two weeks, or that ended at `from` or later. What is only about
   * monitors that the page does not show is left out.
   *
   * @param span.from and `now`: epoch ms
   */
  async read(
    pageId: number,
    { from, now }: { readonly from: number; readonly now: number },
  ): Promise<PageNotes> {
    const components = await componentsShownOn(this.#store, pageId);
    const monitorIds = [...new Set(components.flatMap(({ monitorId }) => monitorId ?? []))];
    const incidents = await writtenIncidents(this.#store, { pageId, monitorIds, from });
    const updates = await updatesOf(
      this.#store,
      incidents.map(({ id }) => id),
    );
    const windows = await windowsOfPage(this.#store, pageId);
    return {
      incidents: incidents.map((incident) =>
        notedIncident(incident, updates.get(incident.id) ?? [], components),
      ),
      maintenance: windows
        .flatMap((window) => notedMaintenance(window, pageId, components, { from, now }))
        .sort((a, b) => a.startsAt - b.startsAt),
    };
  }
}

function notedIncident(
  incident: StoredIncident,
  updates: readonly StoredUpdate[],
  components: readonly ShownComponent[],
): NotedIncident {
  const { id, key, title, impact, monitor_id: monitorId, opened_at, closed_at } = incident;
  const named = newestUpdate(updates)?.componentIds ?? [];
  const affected = components.filter((component) =>
    named.length > 0 ? named.includes(component.id) : monitorId !== null && component.monitorId === monitorId,
  );
  return {
    id: String(id),
    key,
    title,
    state: stateOf(closed_at !== null, updates),
    impact: impact === 'none' ? 'operational' : impact,
    componentIds: affected.map((component) => String(component.id)),
    startedAt: opened_at,
    endedAt: closed_at,
    updates: [...updates]
      .sort((a, b) => b.at - a.at || b.id - a.id)
      .map((update) => ({ id: String(update.id), at: update.at, state: update.state, text: update.text })),
  };
}

function notedMaintenance(
  window: StoredWindow,
  pageId: number,
  components: readonly ShownComponent[],
  { from, now }: { from: number; now: number },
): NotedMaintenance[] {
  const affected = components.filter(
    ({ id, monitorId }) =>
      window.componentIds.includes(id) || (monitorId !== null && window.monitorIds.includes(monitorId)),
  );
  // It is about monitors that the page does not show.
  if (affected.length === 0 && !window.pageIds.includes(pageId)) return [];
  const occurrences = occurrencesIn(window, from, now + AHEAD_MS).slice(-MOST_OCCURRENCES);
  return occurrences.map(({ from: startsAt, until: endsAt }) => ({
    id: `${window.id}-${startsAt}`,
    title: window.title,
    description: window.text === '' ? null : window.text,
    state: endsAt <= now ? 'completed' : startsAt <= now ? 'in_progress' : 'scheduled',
    componentIds: affected.map(({ id }) => String(id)),
    startsAt,
    endsAt,
    createdAt: window.createdAt,
    updatedAt: window.updatedAt,
  }));
}
