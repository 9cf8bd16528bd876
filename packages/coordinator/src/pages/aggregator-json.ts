import type { State } from '../web/design/states.ts';
import { incidentTitle, updateSentence } from './html/incident-list.ts';
import type { MaintenanceState, MaintenanceView } from './notes.ts';
import type { IncidentUpdate, PageIncident } from './page-incidents.ts';
import type { Overall } from './page-states.ts';
import type { ComponentView, PageView, SectionView } from './page-view.ts';
import { addressOf, type Place } from './place.ts';

/*
 * The JSON documents that aggregators of status pages read. They have the
 * form of version 2 of the public API of a widespread status page service.
 * Members that have no meaning in svc have the default values of that API.
 */

/**
 * For each state, the status in the documents. The copied API has no status for
 * missing data. So the documents call a component without data `operational`,
 * although the HTML page, the feeds and the badge say "No data".
 *
 * The status of an outage would be worse: when svc itself fails, an aggregator would wake people
 * because of the wrong service. The component is not left out, because clients may search for
 * its id. It gets no new status, because clients may accept only the statuses that they know.
 */
const STATUS: Readonly<Record<State, string>> = {
  operational: 'operational',
  unknown: 'operational',
  degraded: 'degraded_performance',
  partial_outage: 'partial_outage',
  down: 'major_outage',
  maintenance: 'under_maintenance',
};

const INDICATOR: Readonly<Record<Overall, string>> = {
  operational: 'none',
  'some-unknown': 'none',
  unknown: 'none',
  empty: 'none',
  maintenance: 'maintenance',
  'some-degraded': 'minor',
  degraded: 'minor',
  'partial-outage': 'major',
  'major-outage': 'critical',
};

const IMPACT: Readonly<Record<State, string>> = {
  operational: 'none',
  unknown: 'none',
  degraded: 'minor',
  partial_outage: 'major',
  down: 'major',
  maintenance: 'maintenance',
};

/** Makes `summary.json`: the page, its components, open incidents, and current or planned maintenance. */
export function summaryJson(view: PageView, place: Place): string {
  return JSON.stringify({
    page: pageMember(view, place),
    components: componentMembers(view),
    incidents: incidentMembers(view.activeIncidents, view, place),
    scheduled_maintenances: maintenanceMembers(view, place, 'scheduled', 'in_progress'),
    status: statusMember(view, place),
  });
}

/** Makes `status.json`: the state of the page as a whole. */
export function statusJson(view: PageView, place: Place): string {
  return JSON.stringify({ page: pageMember(view, place), status: statusMember(view, place) });
}

/** Makes `components.json`: the page and its components. */
export function componentsJson(view: PageView, place: Place): string {
  return JSON.stringify({ page: pageMember(view, place), components: componentMembers(view) });
}

/** Makes `incidents.json`: open incidents, and the ended incidents that the page lists. */
export function incidentsJson(view: PageView, place: Place): string {
  const incidents = [...view.activeIncidents, ...view.pastIncidents];
  return JSON.stringify({
    page: pageMember(view, place),
    incidents: incidentMembers(incidents, view, place),
  });
}

/** Makes `incidents/unresolved.json`: the page and its open incidents. */
export function unresolvedJson(view: PageView, place: Place): string {
  return JSON.stringify({
    page: pageMember(view, place),
    incidents: incidentMembers(view.activeIncidents, view, place),
  });
}

/**
 * Returns the function that makes `scheduled-maintenances.json`,
 * or a document below it with the maintenance in one state.
 */
export function maintenanceJson(...states: readonly MaintenanceState[]) {
  return (view: PageView, place: Place): string =>
    JSON.stringify({
      page: pageMember(view, place),
      scheduled_maintenances: maintenanceMembers(view, place, ...states),
    });
}

function pageMember({ page, changedAt }: PageView, place: Place): object {
  return {
    id: String(page.id),
    name: page.attributes.title,
    url: addressOf(place),
    time_zone: 'Etc/UTC',
    updated_at: time(changedAt),
  };
}

function statusMember({ overall }: PageView, { words }: Place): object {
  return { indicator: INDICATOR[overall], description: words.text.overall[overall] };
}

function componentMembers(view: PageView): object[] {
  const members: object[] = [];
  for (const { group, components } of view.sections) {
    if (group !== null) members.push(groupMember(group, components, view, members.length + 1));
    for (const component of components) {
      members.push(componentMember(component, view, members.length + 1, group !== null));
    }
  }
  return members;
}

function groupMember(
  group: NonNullable<SectionView['group']>,
  components: readonly ComponentView[],
  { page }: PageView,
  position: number,
): object {
  return {
    // Groups and components are numbered separately, but are in one list here. The `g` keeps their ids apart.
    id: `g${group.id}`,
    name: group.name,
    status: STATUS[group.state ?? 'operational'],
    created_at: time(group.createdAt),
    updated_at: time(group.updatedAt),
    position,
    description: null,
    showcase: false,
    start_date: null,
    group_id: null,
    page_id: String(page.id),
    group: true,
    only_show_if_degraded: false,
    components: components.map(({ id }) => id),
  };
}

function componentMember(component: ComponentView, { page }: PageView, position: number, isInGroup: boolean) {
  const { id, name, state, description, days, groupId, createdAt, updatedAt } = component;
  const first = days.find(({ uptime }) => uptime !== null);
  return {
    id,
    name,
    status: STATUS[state ?? 'operational'],
    created_at: time(createdAt),
    updated_at: time(updatedAt),
    position,
    description,
    showcase: days.length > 0,
    start_date: first === undefined ? null : time(first.at).slice(0, 10),
    group_id: isInGroup ? `g${groupId}` : null,
    page_id: String(page.id),
    group: false,
    only_show_if_degraded: false,
  };
}

function incidentMembers(incidents: readonly PageIncident[], view: PageView, place: Place): object[] {
  const members = new Map(
    view.sections.flatMap(({ group, components }) =>
      components.map(
        (one, index) => [one.id, componentMember(one, view, index + 1, group !== null)] as const,
      ),
    ),
  );
  return incidents.map((incident) => ({
    ...commonMembers(incident.id, incidentTitle(incident, place.words), view, place),
    status: incident.endedAt === null ? stageOf(incident.updates[0]) : 'resolved',
    created_at: time(incident.startedAt),
    updated_at: time(incident.updatedAt),
    monitoring_at: null,
    resolved_at: incident.endedAt === null ? null : time(incident.endedAt),
    impact: IMPACT[incident.impact],
    started_at: time(incident.startedAt),
    incident_updates: incident.updates.map((update, index) =>
      updateMember(update, incident.updates[index + 1], incident, place),
    ),
    components: incident.components.flatMap(({ id }) => members.get(id) ?? []),
  }));
}

function commonMembers(id: string, name: string, { page }: PageView, place: Place) {
  return { id, name, page_id: String(page.id), shortlink: `${addressOf(place)}#i${id}` };
}

function updateMember(
  update: IncidentUpdate,
  before: IncidentUpdate | undefined,
  incident: PageIncident,
  { words }: Place,
): object {
  const statusOf = (state: IncidentUpdate['state']) => STATUS[state === 'ended' ? 'operational' : state];
  const { id, at } = update;
  return {
    ...updateMembers({ id, incidentId: incident.id, at, updatedAt: at }),
    status: stageOf(update),
    body: updateSentence(update, incident, words),
    affected_components: incident.components.map(({ id, name }) => ({
      code: id,
      name,
      old_status: statusOf(before?.state ?? 'operational'),
      new_status: statusOf(update.state),
    })),
  };
}

type UpdateFacts = {
  readonly id: string;
  readonly incidentId: string;
  /** When the update was made, epoch ms. */
  readonly at: number;
  readonly updatedAt: number;
};

/** Makes the members that an update of an incident and an update of maintenance have in common. */
function updateMembers({ id, incidentId, at, updatedAt }: UpdateFacts): object {
  return {
    id,
    incident_id: incidentId,
    created_at: time(at),
    updated_at: time(updatedAt),
    display_at: time(at),
    deliver_notifications: true,
    custom_tweet: null,
    tweet_id: null,
  };
}

function stageOf(update: IncidentUpdate | undefined): string {
  if (update?.note) return update.note.stage;
  return update?.state === 'operational' || update?.state === 'ended' ? 'resolved' : 'investigating';
}

function maintenanceMembers(view: PageView, place: Place, ...states: readonly MaintenanceState[]): object[] {
  const named = view.sections.flatMap(({ group, components }) =>
    components.map((one, index) => componentMember(one, view, index + 1, group !== null)),
  );
  return view.maintenance
    .filter(({ state }) => states.includes(state))
    .map((window) => ({
      ...commonMembers(window.id, window.title, view, place),
      shortlink: `${addressOf(place)}#m${window.id}`,
      status: window.state,
      created_at: time(window.stages.at(-1)?.at ?? window.updatedAt),
      updated_at: time(window.updatedAt),
      monitoring_at: null,
      resolved_at: window.state === 'completed' ? time(window.endsAt) : null,
      impact: 'maintenance',
      started_at: time(window.startsAt),
      scheduled_for: time(window.startsAt),
      scheduled_until: time(window.endsAt),
      incident_updates: stageMembers(window, named),
      components: named.filter(({ id }) => window.componentIds.includes(id)),
    }));
}

/**
 * Makes one update for each state that the maintenance has had, newest first.
 * Each update has the whole text, because clients show only the first update.
 */
function stageMembers(
  { id, title, text, state, stages, componentIds, updatedAt }: MaintenanceView,
  components: readonly { readonly id: string; readonly name: string }[],
): object[] {
  const affected = components.filter((one) => componentIds.includes(one.id));
  const statusDuring = (stage: MaintenanceState | undefined) =>
    STATUS[stage === 'in_progress' ? 'maintenance' : 'operational'];
  return stages.map((stage, index) => ({
    ...updateMembers({
      id: `${id}-${stage.state}`,
      incidentId: id,
      at: stage.at,
      updatedAt: stage.state === state ? updatedAt : stage.at,
    }),
    status: stage.state,
    body: text === '' ? title : text,
    affected_components: affected.map(({ id: code, name }) => ({
      code,
      name,
      old_status: statusDuring(stages[index + 1]?.state),
      new_status: statusDuring(stage.state),
    })),
  }));
}

function time(at: number): string {
  return new Date(at).toISOString();
}
