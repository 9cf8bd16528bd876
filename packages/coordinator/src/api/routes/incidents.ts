import { z } from 'zod';
import { newestUpdate, stateOf } from '../../domain/incident-updates.ts';
import {
  findIncident,
  newestIncidents,
  type StoredIncident,
  type StoredUpdate,
  updatesOf,
} from '../../store/incidents.ts';
import { id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { idOf, type ServedEndpoint, workspaceOf } from '../endpoint.ts';
import { contentOf, incidentBody, newIncidentBody, updateBody, updateContent } from '../incident-body.ts';
import { instantText } from '../instants.ts';
import { type IncidentView, incidentView, type UpdateView, updateView } from '../note-answers.ts';
import { defineObjects, type Member, type ObjectRequest, serveObjects, versionOptions } from '../objects.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../paging.ts';
import { Problem } from '../problem.ts';

const filters = {
  state: z
    .enum(['open', 'resolved'], 'must be open or resolved')
    .optional()
    .meta({ description: 'Only incidents that are open, or only those that are over.' }),
  monitor_id: id.optional().meta({ description: 'Only incidents of this monitor.' }),
  page_id: id.optional().meta({
    description:
      'Only incidents that this status page may show: those that name it, and those of its monitors.',
  }),
};

export const INCIDENT = defineObjects({
  path: '/v1/incidents',
  tag: 'Incidents',
  noun: 'incident',
  schema: incidentView,
  repeats: incidentView,
  list: {
    summary: 'List incidents, those of monitors and those that people wrote, newest first',
    description: 'Incidents are kept for 400 days after their end.',
    query: cursorPage.extend(filters),
    answer: 'A page of incidents.',
    schema: historyOf(incidentView),
  },
  create: {
    summary: 'Write an incident for status pages, with its first update',
    body: newIncidentBody,
    problems: ['conflict', 'reference-not-found'],
  },
  read: { summary: 'Read an incident', answer: 'The incident.' },
  replace: {
    summary: 'Replace the title, the impact and the pages of an incident',
    answer: 'The incident as it is now.',
    body: incidentBody,
    problems: ['reference-not-found'],
  },
  remove: {
    summary: 'Remove an incident that people wrote, with its updates',
    problems: ['conflict'],
  },
});

export const UPDATE = defineObjects({
  path: '/v1/incidents/{incident_id}/updates',
  tag: 'Incidents',
  noun: 'update',
  schema: updateView,
  repeats: updateView,
  verb: 'published',
  list: {
    summary: 'List the updates of an incident, newest first',
    query: cursorPage,
    answer: 'A page of updates.',
    schema: historyOf(updateView),
  },
  create: {
    summary: 'Publish an update of an incident',
    description:
      "Visitors of the incident's status pages see it at once, and subscribers are told. An incident of a monitor may have updates too.",
    body: updateBody,
    problems: ['conflict', 'reference-not-found'],
  },
  read: { summary: 'Read an update of an incident', answer: 'The update.' },
  replace: {
    summary: 'Correct an update of an incident',
    description: 'Pages show the corrected text. Subscribers are not told again.',
    answer: 'The update as it is now.',
    body: updateBody,
    problems: ['reference-not-found'],
  },
  remove: { summary: 'Remove an update of an incident' },
});

const incidentKeys = z.tuple([z.number().int()]);
const updateKeys = z.tuple([z.number().int(), z.number().int()]);

type Parts = Pick<ApiParts, 'store' | 'secrets' | 'clock' | 'incidents'>;

/** The endpoints of incidents and of what people write about them. */
export function incidentEndpoints(parts: Parts): ServedEndpoint[] {
  return [...ofIncidents(parts), ...ofUpdates(parts)];
}

function ofIncidents(parts: Parts): ServedEndpoint[] {
  const { store, incidents } = parts;
  return serveObjects(
    INCIDENT,
    incidents,
    {
      async find(request, incidentId): Promise<Member | null> {
        const incident = await findIncident(store, workspaceOf(request), incidentId);
        if (incident === null) return null;
        const updates = (await updatesOf(store, [incidentId])).get(incidentId) ?? [];
        return { view: viewOf(incident, updates), rowVersion: incident.row_version };
      },
      async list(request) {
        const { limit, cursor, state, monitor_id, page_id } = request.query;
        const rows = await newestIncidents(store, {
          workspaceId: workspaceOf(request),
          beforeId: decodeCursor(cursor, incidentKeys)?.[0] ?? null,
          limit: limit + 1,
          isOpen: state === undefined ? undefined : state === 'open',
          monitorId: monitor_id === undefined ? undefined : Number(monitor_id),
          pageId: page_id === undefined ? undefined : Number(page_id),
        });
        const updates = await updatesOf(
          store,
          rows.map((row) => row.id),
        );
        const view = (row: StoredIncident) => viewOf(row, updates.get(row.id) ?? []);
        return historyPage(rows, limit, view, (row) => [row.id]);
      },
      create: ({ body }) => ({
        keyed: body,
        write: (change) => change.create(contentOf(body), updateContent(body, change.now)),
      }),
      replace(request) {
        const [content, versions] = [contentOf(request.body), versionOptions(request)];
        return (change) => change.replace(idOf(request), content, versions);
      },
      remove: (request) => (change) => change.remove(idOf(request)),
    },
    parts,
  );
}

function ofUpdates(parts: Parts): ServedEndpoint[] {
  const { store, incidents } = parts;
  const incidentOf = (request: ObjectRequest) => idOf(request, 'incident_id');
  return serveObjects(
    UPDATE,
    incidents,
    {
      missing: (request) => `incident ${incidentOf(request)} has no update ${idOf(request)}`,
      async find(request, updateId): Promise<Member | null> {
        const update = (await requireUpdates(store, request)).find((each) => each.id === updateId);
        return update === undefined ? null : { view: viewOfUpdate(update), rowVersion: update.row_version };
      },
      async list(request) {
        const { limit, cursor } = request.query;
        const updates = await requireUpdates(store, request);
        const before = decodeCursor(cursor, updateKeys);
        const rows = [...updates]
          .sort((a, b) => b.at - a.at || b.id - a.id)
          .filter(({ at, id }) => before === null || at < before[0] || (at === before[0] && id < before[1]));
        return historyPage(rows.slice(0, limit + 1), limit, viewOfUpdate, ({ at, id }) => [at, id]);
      },
      create: (request) => ({
        keyed: request.body,
        write: (change) => change.addUpdate(incidentOf(request), updateContent(request.body, change.now)),
      }),
      async replace(request) {
        const versions = versionOptions(request);
        const before = (await requireUpdates(store, request)).find((each) => each.id === idOf(request));
        // Without an instant it stays where it is.
        return (change) => {
          const content = updateContent(request.body, before?.at ?? change.now);
          return change.replaceUpdate(incidentOf(request), idOf(request), content, versions);
        };
      },
      remove: (request) => (change) => change.removeUpdate(incidentOf(request), idOf(request)),
    },
    parts,
  );
}

/** @throws Problem `not-found` when the incident does not exist or belongs to another workspace */
async function requireUpdates(
  store: ApiParts['store'],
  request: ObjectRequest,
): Promise<readonly StoredUpdate[]> {
  const incidentId = idOf(request, 'incident_id');
  const incident = await findIncident(store, workspaceOf(request), incidentId);
  if (incident === null) throw new Problem('not-found', `there is no incident ${incidentId}`);
  return (await updatesOf(store, [incidentId])).get(incidentId) ?? [];
}

function viewOf(incident: StoredIncident, updates: readonly StoredUpdate[]): IncidentView {
  const { monitor_id: monitorId, closed_at: closedAt } = incident;
  const newest = newestUpdate(updates);
  return {
    id: String(incident.id),
    origin: monitorId === null ? 'operator' : 'monitor',
    key: incident.key,
    monitor_id: monitorId === null ? null : String(monitorId),
    title: incident.title,
    impact: incident.impact,
    state: stateOf(closedAt !== null, updates),
    started_at: instantText(incident.opened_at),
    resolved_at: closedAt === null ? null : instantText(closedAt),
    closure: incident.closure,
    page_ids: incident.pageIds.map(String),
    latest_update: newest === null ? null : viewOfUpdate(newest),
  };
}

function viewOfUpdate(update: StoredUpdate): UpdateView {
  return {
    id: String(update.id),
    incident_id: String(update.incident_id),
    state: update.state,
    text: update.text,
    component_ids: update.componentIds.map(String),
    at: instantText(update.at),
    created_at: instantText(update.created_at),
    updated_at: instantText(update.updated_at),
  };
}
