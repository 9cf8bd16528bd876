import type { Secret } from '@svc/shared/secret.ts';
import { storedIn } from '../declaration/reading.ts';
import type { StoredPage } from '../declaration/stored.ts';
import { type Latencies, latenciesOf, latencySpan } from '../history/latencies.ts';
import { type DayTimes, dailyTimes } from '../history/status-times.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { updatesOf, writtenIncidents } from '../store/incidents/incidents.ts';
import { windowsOfPage } from '../store/incidents/maintenance-windows.ts';
import { iconFetchedAt } from '../store/pages/page-icons.ts';
import {
  type PageName,
  partsOfShownPage,
  publishedPage,
  shownIncidents,
  shownMonitors,
} from '../store/pages/shown-pages.ts';
import type { Store } from '../store/store.ts';
import { DAY_MS, dayOf } from '../verdict/summary-range.ts';
import type { PageNotes } from './notes.ts';
import type { PageSource, ReadLatencies } from './page-view.ts';
import { publicIdsOf } from './public-ids.ts';

/** Number of days in the bars, today included. */
export const BAR_DAYS = 90;
/** Number of days whose incidents are listed, today included. */
export const INCIDENT_DAYS = 14;
/** Maximum number of measured incidents that are listed. */
const MOST_INCIDENTS = 50;
/** Maximum number of components that a page shows. */
const MOST_COMPONENTS = 500;
/** Number of monitors whose days are read at once. Reading so many takes the main thread about 5 ms. */
const DAYS_AT_ONCE = 50;

export type PageReadingParts = {
  readonly store: Pick<Store, 'read' | 'declarations'>;
  readonly secrets: Secrets;
  /** Reads the clock that dates slots and statuses, epoch ms. */
  readonly slotNow: () => number;
  /** Key with which svc makes the ids that visitors see, 32 bytes. */
  readonly visitorKey: Secret<Uint8Array>;
};

/** A published page, and the version of its content (see {@link publishedPage}). */
export type VersionedPage = {
  readonly page: StoredPage;
  readonly version: string;
};

/**
 * Finds a published page with the version of its content; null: no page with this name is published.
 *
 * @throws StoreError
 */
export async function findVersion(
  { store, secrets }: PageReadingParts,
  name: PageName,
): Promise<VersionedPage | null> {
  const found = await publishedPage(store, name);
  if (found === undefined) return null;
  const [page] = await storedIn({ source: store, secrets, shown: 'masked' }, 'status_pages', [found.row]);
  return page === undefined ? null : { page, version: found.version };
}

/**
 * Reads all data that a page shows.
 *
 * @param known latencies of the previous read. They are used again until the next hour is rolled up
 * @throws StoreError
 */
export async function readPage(
  parts: PageReadingParts,
  page: StoredPage,
  known: ReadLatencies | null = null,
): Promise<PageSource> {
  const { store, secrets } = parts;
  const { icon } = page.attributes;
  const now = Math.floor(parts.slotNow());
  const reading = { source: store, secrets, shown: 'masked' } as const;
  const rows = await partsOfShownPage(store, page.id, MOST_COMPONENTS);
  const groups = await storedIn(reading, 'component_groups', rows.groups);
  const components = await storedIn(reading, 'components', rows.components);
  const ids = [...new Set(components.flatMap(({ attributes }) => attributes.monitor_id ?? []))].map(Number);
  const monitors = await shownMonitors(store, ids);
  const shownIds = monitors
    .filter(({ isPublic }) => isPublic || page.attributes.access_type !== 'public')
    .map(({ id }) => id);
  const since = dayOf(now) - (INCIDENT_DAYS - 1) * DAY_MS;
  return {
    page,
    groups,
    components,
    monitors: new Map(monitors.map((monitor) => [monitor.id, monitor])),
    days: await daysOf(store, shownIds, now),
    latencies: await latenciesOfPage(parts, page, shownIds, { known, now }),
    // Incidents of hidden monitors are not read. They would use
    // up the limit, and visitors would see that they exist.
    incidents: await shownIncidents(store, shownIds, { from: since, limit: MOST_INCIDENTS }),
    notes: await notesOf(store, page, shownIds, since),
    publicId: publicIdsOf(parts.visitorKey, page.id),
    iconFetchedAt: icon === null ? null : await iconFetchedAt(store, page.id, icon),
    since,
    now,
  };
}

async function daysOf(
  store: Pick<Store, 'read'>,
  ids: readonly number[],
  now: number,
): Promise<PageSource['days']> {
  const days = new Map<number, readonly DayTimes[]>();
  for (let first = 0; first < ids.length; first += DAYS_AT_ONCE) {
    const some = await dailyTimes(store, ids.slice(first, first + DAYS_AT_ONCE), BAR_DAYS, now);
    for (const [id, times] of some) days.set(id, times);
  }
  return days;
}

/** Reads the incidents and maintenance windows that operators wrote, and that may concern the page. */
async function notesOf(
  store: Pick<Store, 'read'>,
  page: StoredPage,
  monitorIds: readonly number[],
  from: number,
): Promise<PageNotes> {
  const incidents = await writtenIncidents(store, { pageId: page.id, monitorIds, from });
  const updates = await updatesOf(
    store,
    incidents.map(({ id }) => id),
  );
  return {
    incidents: incidents.map((incident) => ({ ...incident, updates: updates.get(incident.id) ?? [] })),
    windows: await windowsOfPage(store, page.id),
  };
}

async function latenciesOfPage(
  { store }: PageReadingParts,
  { latency: range }: StoredPage,
  monitorIds: readonly number[],
  { known, now }: { readonly known: ReadLatencies | null; readonly now: number },
): Promise<ReadLatencies | null> {
  if (range === 'none') return null;
  const span = await latencySpan(store, range, now);
  const isKnown = known !== null && known.span.range === range && known.span.until === span.until;
  const found = new Map<number, Latencies>();
  for (const id of monitorIds) {
    found.set(id, (isKnown ? known.of.get(id) : undefined) ?? (await latenciesOf(store, id, span)));
  }
  return { span, of: found };
}
