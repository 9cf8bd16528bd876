import { compareInGroup, compareOnPage } from '@svc/shared/resources/component.ts';
import type { StoredComponent, StoredGroup, StoredPage } from '../declaration/stored.ts';
import type { Latencies, LatencyRange, LatencySpan } from '../history/latencies.ts';
import type { DayTimes } from '../history/status-times.ts';
import type { ShownIncident, ShownMonitor } from '../store/pages/shown-pages.ts';
import { addTimes, NO_TIMES, type StatusTimes, uptimePercent } from '../verdict/uptime.ts';
import type { State } from '../web/design/states.ts';
import { type MaintenanceView, maintenanceViews, notedState, type PageNotes } from './notes.ts';
import { incidentViews, type PageIncident } from './page-incidents.ts';
import { type Overall, overallOf, stateOf, stateOfDay, worstState } from './page-states.ts';
import type { PublicIds } from './public-ids.ts';

/** Latencies by monitor id, over the time span that the owner of the page chose. */
export type ReadLatencies = {
  readonly span: LatencySpan;
  readonly of: ReadonlyMap<number, Latencies>;
};

/** All data from which the view of a page is made. Instants are epoch ms. */
export type PageSource = {
  readonly page: StoredPage;
  readonly groups: readonly StoredGroup[];
  readonly components: readonly StoredComponent[];
  /** Monitors by id. Monitors that were removed are missing. */
  readonly monitors: ReadonlyMap<number, ShownMonitor>;
  /** By monitor id, the times of the last days, oldest first, today included. */
  readonly days: ReadonlyMap<number, readonly DayTimes[]>;
  /** Latencies of the monitors; null: the page shows no latencies. */
  readonly latencies: ReadLatencies | null;
  readonly incidents: readonly ShownIncident[];
  readonly notes: PageNotes;
  readonly publicId: PublicIds;
  /** When the image of the page's icon was fetched, epoch ms; null: there is no image. */
  readonly iconFetchedAt: number | null;
  /** Beginning of the first day whose incidents and maintenance are shown, epoch ms. */
  readonly since: number;
  readonly now: number;
};

export type DayView = {
  /** Beginning of the day in UTC, epoch ms. */
  readonly at: number;
  readonly state: State;
  /** Uptime in percent; null: the day has no data. */
  readonly uptime: number | null;
  readonly times: StatusTimes;
};

export type ComponentView = {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  /** The state of the component; null: the component is static, and no open incident gives it a state. */
  readonly state: State | null;
  /** The days, oldest first; empty: the component is static. */
  readonly days: readonly DayView[];
  /** Uptime over all days, percent; null: there is no data, or the component is static. */
  readonly uptime: number | null;
  /** The latencies of the component; null: the page shows no latencies, or the component is static. */
  readonly latencies: Latencies | null;
  readonly groupId: string | null;
  /** When the component was created, epoch ms. `updatedAt`: when it or its monitor last changed, epoch ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** A group with its components, or consecutive components that have no group. */
export type SectionView = {
  readonly group: {
    readonly id: string;
    readonly name: string;
    readonly state: State | null;
    readonly createdAt: number;
    readonly updatedAt: number;
  } | null;
  readonly components: readonly ComponentView[];
};

/** All content of a page, before it is put into a language. */
export type PageView = {
  readonly page: StoredPage;
  /** When the image of the page's icon was fetched, epoch ms; null: there is no image. */
  readonly iconFetchedAt: number | null;
  readonly overall: Overall;
  readonly sections: readonly SectionView[];
  /** The time span of the latencies; null: the page shows no latencies. */
  readonly latencyRange: LatencyRange | null;
  /** Open incidents, newest first. `pastIncidents`: ended incidents, newest first. */
  readonly activeIncidents: readonly PageIncident[];
  readonly pastIncidents: readonly PageIncident[];
  readonly maintenance: readonly MaintenanceView[];
  /** When the data was read, epoch ms. */
  readonly now: number;
  /** When the content last changed, epoch ms. The growth of figures does not count as a change. */
  readonly changedAt: number;
};

/**
 * Makes the view of a page. A component is left out if its monitor was removed. On a page
 * with the access type `public`, a component is also left out if its monitor is not public.
 */
export function pageView(source: PageSource): PageView {
  const { page, notes, now, since, publicId } = source;
  const shown = source.components.filter((component) => isShown(component, source));
  const named = shown.map(({ id, attributes }) => ({
    id: String(id),
    name: nameOf(attributes, source),
    monitorId: attributes.monitor_id === null ? null : Number(attributes.monitor_id),
  }));
  const maintenance = maintenanceViews(notes.windows, page.id, named, { from: since, now, publicId });
  const components = shown.map((component) => componentView(component, maintenance, source));
  const incidents = incidentViews(named, source.incidents, notes.incidents, publicId);
  return {
    page,
    iconFetchedAt: source.iconFetchedAt,
    overall: overallOf(components.flatMap(({ state }) => (state === null ? [] : [state]))),
    sections: sectionsOf(source.groups, shown, components),
    latencyRange: source.latencies?.span.range ?? null,
    activeIncidents: incidents.filter(({ endedAt }) => endedAt === null),
    pastIncidents: incidents.filter(({ endedAt }) => endedAt !== null),
    maintenance,
    now,
    changedAt: Math.min(
      now,
      Math.max(
        page.updatedAt,
        ...components.map(({ updatedAt }) => updatedAt),
        ...incidents.map(({ updatedAt }) => updatedAt),
        ...maintenance.map(({ updatedAt }) => updatedAt),
      ),
    ),
  };
}

function isShown({ attributes }: StoredComponent, { page, monitors }: PageSource): boolean {
  if (attributes.type === 'static') return true;
  const monitor = monitors.get(Number(attributes.monitor_id));
  return monitor !== undefined && (monitor.isPublic || page.attributes.access_type !== 'public');
}

function nameOf(
  { name, monitor_id: monitorId }: StoredComponent['attributes'],
  { monitors }: PageSource,
): string {
  return name ?? monitors.get(Number(monitorId))?.name ?? '';
}

function componentView(
  component: StoredComponent,
  maintenance: readonly MaintenanceView[],
  source: PageSource,
): ComponentView {
  const { id, attributes, createdAt } = component;
  const monitor = source.monitors.get(Number(attributes.monitor_id));
  const known = monitor === undefined ? [] : (source.days.get(monitor.id) ?? []);
  return {
    id: String(id),
    name: nameOf(attributes, source),
    description: attributes.description,
    state: stateOfComponent(String(id), monitor, maintenance, source.notes),
    days: known.map(({ at, times }) => ({
      at,
      state: stateOfDay(times),
      uptime: uptimePercent(times),
      times,
    })),
    uptime: uptimePercent(known.map(({ times }) => times).reduce(addTimes, NO_TIMES)),
    latencies: monitor === undefined ? null : (source.latencies?.of.get(monitor.id) ?? null),
    groupId: attributes.group_id,
    createdAt,
    updatedAt: Math.max(component.updatedAt, monitor?.since ?? 0),
  };
}

/**
 * Returns the worst of the measured state and the states that open incidents give to the component; null:
 * there are no such states. During maintenance of the component, the state is always `maintenance`.
 */
function stateOfComponent(
  id: string,
  monitor: ShownMonitor | undefined,
  maintenance: readonly MaintenanceView[],
  notes: PageNotes,
): State | null {
  const isMaintained = maintenance.some(
    ({ state, componentIds }) => state === 'in_progress' && componentIds.includes(id),
  );
  if (isMaintained) return 'maintenance';
  const states = [
    ...(monitor === undefined ? [] : [stateOf(monitor.status)]),
    ...notes.incidents.flatMap((incident) => notedState(id, incident) ?? []),
  ];
  return states.length === 0 ? null : worstState(states);
}

/**
 * Returns the sections of a page in their order. A group stands where its first component would
 * stand by `order`. Components without an order come last. Groups without components are left out.
 */
function sectionsOf(
  groups: readonly StoredGroup[],
  stored: readonly StoredComponent[],
  views: readonly ComponentView[],
): SectionView[] {
  const viewOf = new Map(views.map((view) => [Number(view.id), view]));
  const named = new Map(groups.map((group) => [String(group.id), group]));
  const sections: { groupId: string | null; members: StoredComponent[] }[] = [];
  for (const component of stored.toSorted((one, other) => compareOnPage(placeOf(one), placeOf(other)))) {
    const given = component.attributes.group_id;
    const groupId = given !== null && named.has(given) ? given : null;
    const open = groupId === null ? sections.at(-1) : sections.find((one) => one.groupId === groupId);
    if (open !== undefined && open.groupId === groupId) open.members.push(component);
    else sections.push({ groupId, members: [component] });
  }
  return sections.map(({ groupId, members }) => {
    const group = groupId === null ? undefined : named.get(groupId);
    const ordered =
      group === undefined
        ? members
        : members.toSorted((one, other) => compareInGroup(placeOf(one), placeOf(other)));
    const components = ordered.flatMap(({ id }) => viewOf.get(id) ?? []);
    return { group: group === undefined ? null : groupView(group, components), components };
  });
}

function groupView({ id, attributes, createdAt, updatedAt }: StoredGroup, members: readonly ComponentView[]) {
  const states = members.flatMap(({ state }) => (state === null ? [] : [state]));
  return {
    id: String(id),
    name: attributes.name,
    state: states.length === 0 ? null : worstState(states),
    createdAt,
    updatedAt: Math.max(updatedAt, ...members.map((member) => member.updatedAt)),
  };
}

function placeOf({ id, attributes }: StoredComponent) {
  return { id, order: attributes.order, group_order: attributes.group_order };
}
