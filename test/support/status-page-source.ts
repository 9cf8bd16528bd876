import type { StoredComponent, StoredGroup, StoredPage } from '@svc/coordinator/declaration/stored.ts';
import { LATENCY_RANGES, type Latencies, type LatencyRange } from '@svc/coordinator/history/latencies.ts';
import type { PageNotes, WrittenIncident } from '@svc/coordinator/pages/notes.ts';
import type { PageSource } from '@svc/coordinator/pages/page-view.ts';
import type { Place } from '@svc/coordinator/pages/place.ts';
import { publicIdsOf } from '@svc/coordinator/pages/public-ids.ts';
import { BAR_DAYS } from '@svc/coordinator/pages/read-page.ts';
import type { Language } from '@svc/coordinator/pages/text/texts.ts';
import { wordsOf } from '@svc/coordinator/pages/words.ts';
import type { StoredWindow } from '@svc/coordinator/store/incidents/maintenance-windows.ts';
import type { ShownIncident, ShownMonitor } from '@svc/coordinator/store/pages/shown-pages.ts';
import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import { bucketsUntil, DAY_MS } from '@svc/coordinator/verdict/summary-range.ts';
import { NO_TIMES, type StatusTimes } from '@svc/coordinator/verdict/uptime.ts';
import { Secret } from '@svc/shared/secret.ts';

/** The instant of the pages that tests make: noon, so that today is half over. */
export const NOW = Date.UTC(2026, 10, 22, 12);
export const MINUTE_MS = 60_000;

export const NO_NOTES: PageNotes = { incidents: [], windows: [] };

/** The ids of page 1 under a key of zeros. */
export const PUBLIC_IDS = publicIdsOf(new Secret(new Uint8Array(32)), 1);

const CREATED = {
  workspaceId: 1,
  rowVersion: 1,
  owner: null,
  localName: null,
  createdAt: NOW - 200 * DAY_MS,
};

export function storedPage(attributes: Partial<StoredPage['attributes']> = {}): StoredPage {
  return {
    ...CREATED,
    id: 1,
    kind: 'svc_status_page',
    updatedAt: CREATED.createdAt,
    published: true,
    theme: 'system',
    latency: 'none',
    attributes: {
      title: 'Example',
      slug: 'example',
      description: null,
      homepage_url: null,
      contact_url: null,
      icon: null,
      custom_domain: null,
      access_type: 'public',
      password: null,
      auth_email_domains: null,
      ...attributes,
    },
  };
}

export function storedGroup(id: number, name: string): StoredGroup {
  return {
    ...CREATED,
    id,
    kind: 'svc_status_page_component_group',
    updatedAt: CREATED.createdAt,
    attributes: { page_id: '1', name },
  };
}

/** A component of a monitor with the same id, unless its type says otherwise. */
export function storedComponent(
  id: number,
  attributes: Partial<StoredComponent['attributes']> = {},
): StoredComponent {
  return {
    ...CREATED,
    id,
    kind: 'svc_status_page_component',
    updatedAt: CREATED.createdAt,
    attributes: {
      page_id: '1',
      type: 'monitor',
      monitor_id: attributes.type === 'static' ? null : String(id),
      name: null,
      description: null,
      order: null,
      group_id: null,
      group_order: null,
      ...attributes,
    },
  };
}

export function shownMonitor(id: number, status: MonitorStatus = 'active'): ShownMonitor {
  return { id, name: `Monitor ${id}`, isPublic: true, status, since: NOW - 30 * DAY_MS };
}

/** The last 90 days of a monitor, all active except the given days, which are counted back from today. */
export function daysWith(other: Readonly<Record<number, Partial<StatusTimes>>> = {}) {
  return bucketsUntil(NOW, DAY_MS, BAR_DAYS).map((at, index) => {
    const ago = BAR_DAYS - 1 - index;
    const length = ago === 0 ? NOW - at : DAY_MS;
    const given = other[ago] ?? {};
    const rest = length - Object.values(given).reduce((sum, ms) => sum + ms, 0);
    return { at, times: { ...NO_TIMES, active: rest, ...given } };
  });
}

/** The stored data of a page, with a public, active monitor for each component that names none. */
export function pageSource(parts: Partial<PageSource> = {}): PageSource {
  const components = parts.components ?? [storedComponent(1)];
  const ids = components.flatMap(({ attributes }) => attributes.monitor_id ?? []).map(Number);
  return {
    page: storedPage(),
    groups: [],
    components,
    monitors: new Map(ids.map((id) => [id, shownMonitor(id)])),
    days: new Map(ids.map((id) => [id, daysWith()])),
    latencies: null,
    incidents: [],
    notes: NO_NOTES,
    publicId: PUBLIC_IDS,
    iconFetchedAt: null,
    since: NOW - 14 * DAY_MS,
    now: NOW,
    ...parts,
  };
}

/** An incident of page 1 that somebody wrote, with one update. */
export function writtenIncident({
  componentIds = [] as number[],
  state = 'identified' as WrittenIncident['updates'][number]['state'],
  closedAt = null as number | null,
  at = NOW - MINUTE_MS,
  text = 'No light.',
}): WrittenIncident {
  return {
    id: 5,
    key: null,
    workspace_id: 1,
    monitor_id: null,
    opened_at: NOW - MINUTE_MS,
    closed_at: closedAt,
    closure: null,
    acknowledged_at: null,
    acknowledged_by: null,
    acknowledged_note: null,
    title: 'Power cut',
    impact: 'partial_outage',
    row_version: 1,
    pageIds: [1],
    updates: [
      {
        id: 7,
        incident_id: 5,
        state,
        text,
        at,
        componentIds,
        row_version: 1,
        created_at: at,
        updated_at: at,
      },
    ],
  };
}

/** Makes a window of two minutes around {@link NOW}. It affects no object unless `parts` names one. */
export function storedWindow(parts: Partial<StoredWindow>): StoredWindow {
  return {
    id: 3,
    workspaceId: 1,
    title: 'Move',
    text: '',
    monitorIds: [],
    pageIds: [],
    componentIds: [],
    startsAt: NOW - MINUTE_MS,
    endsAt: NOW + MINUTE_MS,
    timeZone: 'UTC',
    repeat: null,
    endedAt: null,
    unknownTimeZone: null,
    rowVersion: 1,
    createdAt: NOW - DAY_MS,
    updatedAt: NOW - DAY_MS,
    ...parts,
  };
}

/** An incident of monitor 1 of ten minutes, which began two days ago. */
export function shownIncident(parts: Partial<ShownIncident> = {}): ShownIncident {
  const openedAt = parts.openedAt ?? NOW - 2 * DAY_MS;
  const closedAt = parts.closedAt === undefined ? openedAt + 10 * MINUTE_MS : parts.closedAt;
  return {
    id: Math.floor(openedAt / 1_000),
    monitorId: 1,
    openedAt,
    closedAt,
    closure: null,
    wasDown: true,
    changes: [
      { at: openedAt, status: 'error' },
      ...(closedAt === null ? [] : [{ at: closedAt, status: 'active' as const }]),
    ],
    ...parts,
  };
}

export function placeIn(language: Language = 'en', parts: Partial<Place> = {}): Place {
  return {
    origin: 'https://svc.example',
    path: '/status/example',
    words: wordsOf(language),
    staleSince: null,
    ...parts,
  };
}

/** The amount of content of a page of {@link largeSource}. */
type Telling = {
  /** Days with disruptions of each component; left out: two of each third component. */
  readonly badDays?: number;
  /** The time span of the latencies; left out: the page shows no latencies. */
  readonly latency?: LatencyRange;
};

/**
 * A page as a company has it: groups, an outage and a slow service now,
 * six incidents of the last two weeks. Each tenth component is new.
 *
 * @param count components
 */
export function largeSource(count: number, { badDays, latency }: Telling = {}): PageSource {
  const groups = ['Website', 'API', 'Data', 'Network', 'Partners'].map((name, index) =>
    storedGroup(index + 1, name),
  );
  const components = Array.from({ length: count }, (_, index) =>
    storedComponent(index + 1, {
      name: `Service number ${index + 1}`,
      description: index % 5 === 0 ? 'What it does for whom, in a line.' : null,
      order: index,
      group_id: String((index % groups.length) + 1),
      group_order: index,
    }),
  );
  const ids = components.map(({ id }) => id);
  const statusOf = (id: number) => (id === 7 ? 'error' : id === 12 ? 'degraded' : 'active');
  return pageSource({
    page: storedPage({
      title: 'Example',
      description: 'The state of our services, measured from three regions.',
      homepage_url: 'https://example.com/',
      contact_url: 'mailto:ops@example.com',
    }),
    groups,
    components,
    monitors: new Map(ids.map((id) => [id, shownMonitor(id, statusOf(id))])),
    days: new Map(ids.map((id) => [id, daysWith(disruptionsOf(id, badDays ?? (id % 3 === 1 ? 2 : 0)))])),
    latencies:
      latency === undefined
        ? null
        : {
            span: { range: latency, until: NOW },
            of: new Map(ids.map((id) => [id, latenciesWith(latency, id)])),
          },
    incidents: [
      shownIncident({ monitorId: 7, openedAt: NOW - 20 * MINUTE_MS, closedAt: null }),
      shownIncident({
        monitorId: 12,
        openedAt: NOW - 65 * MINUTE_MS,
        closedAt: null,
        wasDown: false,
        changes: [{ at: NOW - 65 * MINUTE_MS, status: 'degraded' }],
      }),
      ...[0, 1, 2, 3, 4, 5].map((index) =>
        shownIncident({ monitorId: index + 1, openedAt: NOW - (index * 2 + 1) * DAY_MS - index * 1_000 }),
      ),
    ],
  });
}

/** The disruptions of a component, by their age in days. Every second disruption was only a degradation. */
function disruptionsOf(id: number, count: number): Record<number, Partial<StatusTimes>> {
  const found: Record<number, Partial<StatusTimes>> = {};
  if (id % 10 === 0) for (let ago = 50; ago < BAR_DAYS; ago += 1) found[ago] = { active: 0, unknown: DAY_MS };
  for (let index = 0; index < count; index += 1) {
    const ago = (id * 13 + index * 7) % 47;
    found[ago] =
      index % 2 === 0
        ? { degraded: ((id % 5) + 1) * 11 * MINUTE_MS }
        : { error: ((id % 9) + 1) * 7 * MINUTE_MS };
  }
  return found;
}

/** Latencies that go up and down by a third, as they do in a network. */
export function latenciesWith(range: LatencyRange, seed: number): Latencies {
  const { bucketMs, buckets } = LATENCY_RANGES[range];
  const median = 40 + seed * 7.3;
  return {
    median,
    p95: median * 2.6,
    buckets: bucketsUntil(NOW - 1, bucketMs, buckets).map((at, index) => ({
      at,
      median: median * (1 + 0.3 * Math.sin(seed + index * 2.4)),
      p95: median * 2.6 * (1 + 0.35 * Math.cos(seed * 3 + index * 1.7)),
    })),
  };
}
