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
import { versionOptions } from '../collection.ts';
import { createdAnswer, createdDocument } from '../created-answer.ts';
import {
  type ApiRequest,
  type Endpoint,
  type EndpointAnswer,
  endpoint,
  idOf,
  NO_CONTENT,
  ok,
  workspaceOf,
} from '../endpoint.ts';
import { entityTag } from '../entity-tag.ts';
import { createsOnce } from '../idempotency.ts';
import { contentOf, incidentBody, newIncidentBody, updateContent } from '../incident-body.ts';
import { instantText } from '../instants.ts';
import { type IncidentView, incidentView } from '../note-answers.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../paging.ts';
import { Problem } from '../problem.ts';
import { updateEndpoints, viewOfUpdate } from './incident-updates.ts';

const PATH = '/v1/incidents';
const TAG = 'Incidents';

const cursorKeys = z.tuple([z.number().int()]);

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

type Parts = Pick<ApiParts, 'store' | 'secrets' | 'clock' | 'incidents'>;

/** The endpoints of incidents and of what people write about them. */
export function incidentEndpoints(parts: Parts): Endpoint[] {
  return [
    listEndpoint(parts),
    createEndpoint(parts),
    readEndpoint(parts),
    replaceEndpoint(parts),
    removeEndpoint(parts),
    ...updateEndpoints(parts),
  ];
}

function listEndpoint({ store }: Parts): Endpoint {
  return endpoint({
    method: 'GET',
    path: PATH,
    access: 'read',
    tag: TAG,
    summary: 'List incidents, those of monitors and those that people wrote, newest first',
    description: 'Incidents are kept for 400 days after their end.',
    query: cursorPage.extend(filters),
    answers: { 200: { description: 'A page of incidents.', schema: historyOf(incidentView) } },
    async handle(request) {
      const { limit, cursor, state, monitor_id, page_id } = request.query;
      const rows = await newestIncidents(store, {
        workspaceId: workspaceOf(request),
        beforeId: decodeCursor(cursor, cursorKeys)?.[0] ?? null,
        limit: limit + 1,
        isOpen: state === undefined ? undefined : state === 'open',
        monitorId: monitor_id === undefined ? undefined : Number(monitor_id),
        pageId: page_id === undefined ? undefined : Number(page_id),
      });
      const updates = await updatesOf(
        store,
        rows.map((row) => row.id),
      );
      return ok(
        historyPage(
          rows,
          limit,
          (row) => viewOf(row, updates.get(row.id) ?? []),
          (row) => [row.id],
        ),
      );
    },
  });
}

function createEndpoint(parts: Parts): Endpoint {
  const { incidents } = parts;
  return endpoint({
    method: 'POST',
    path: PATH,
    access: 'write',
    tag: TAG,
    summary: 'Write an incident for status pages, with its first update',
    body: newIncidentBody,
    repeats: incidentView,
    headers: ['Idempotency-Key'],
    answers: { 201: createdDocument(incidentView) },
    problems: ['conflict', 'reference-not-found'],
    async handle(request) {
      const workspaceId = workspaceOf(request);
      const { body } = request;
      const once = createsOnce(request, { path: PATH, body }, parts);
      const { id: incidentId, isNew } = await incidents.transaction(workspaceId, (change) =>
        once(change.tx, () => change.create(contentOf(body), updateContent(body, change.now))),
      );
      const answered = await member(parts, workspaceId, incidentId);
      return createdAnswer(answered, { noun: 'incident', id: incidentId, path: PATH, isNew });
    },
  });
}

function readEndpoint(parts: Parts): Endpoint {
  return endpoint({
    method: 'GET',
    path: `${PATH}/{id}`,
    access: 'read',
    tag: TAG,
    summary: 'Read an incident',
    headers: ['If-None-Match'],
    answers: { 200: { description: 'The incident.', schema: incidentView, headers: ['ETag'] } },
    handle: (request) => requireIncident(parts, request),
  });
}

function replaceEndpoint(parts: Parts): Endpoint {
  return endpoint({
    method: 'PUT',
    path: `${PATH}/{id}`,
    access: 'write',
    tag: TAG,
    summary: 'Replace the title, the impact and the pages of an incident',
    body: incidentBody,
    repeats: incidentView,
    headers: ['If-Match'],
    answers: { 200: { description: 'The incident as it is now.', schema: incidentView, headers: ['ETag'] } },
    problems: ['reference-not-found'],
    async handle(request) {
      const incidentId = idOf(request);
      await parts.incidents.transaction(workspaceOf(request), async (change) => {
        await change.replace(incidentId, contentOf(request.body), versionOptions(request));
        await request.audit.write(change.tx);
      });
      return requireIncident(parts, request);
    },
  });
}

function removeEndpoint({ incidents }: Parts): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: `${PATH}/{id}`,
    access: 'write',
    tag: TAG,
    summary: 'Remove an incident that people wrote, with its updates',
    answers: { 204: { description: 'Removed.' } },
    problems: ['conflict'],
    async handle(request) {
      const incidentId = idOf(request);
      await incidents.transaction(workspaceOf(request), async (change) => {
        await change.remove(incidentId);
        await request.audit.write(change.tx);
      });
      return NO_CONTENT;
    },
  });
}

/** @throws Problem `not-found` */
async function requireIncident(
  parts: Parts,
  request: Pick<ApiRequest, 'token' | 'ids'>,
): Promise<EndpointAnswer> {
  const answered = await member(parts, workspaceOf(request), idOf(request));
  if (answered === null) throw new Problem('not-found', `there is no incident ${idOf(request)}`);
  return answered;
}

async function member(
  { store }: Parts,
  workspaceId: number,
  incidentId: number,
): Promise<EndpointAnswer | null> {
  const incident = await findIncident(store, workspaceId, incidentId);
  if (incident === null) return null;
  const updates = (await updatesOf(store, [incidentId])).get(incidentId) ?? [];
  const view = viewOf(incident, updates);
  return ok(view, { etag: entityTag(incident.row_version, view) });
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
