import { z } from 'zod';
import { findIncident, type StoredUpdate, updatesOf } from '../../store/incidents.ts';
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
import { updateBody, updateContent } from '../incident-body.ts';
import { instantText } from '../instants.ts';
import { type UpdateView, updateView } from '../note-answers.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../paging.ts';
import { Problem } from '../problem.ts';

const PATH = '/v1/incidents/{incident_id}/updates';
const TAG = 'Incidents';

const cursorKeys = z.tuple([z.number().int(), z.number().int()]);

type Parts = Pick<ApiParts, 'store' | 'secrets' | 'clock' | 'incidents'>;

/** The endpoints of the updates of an incident. */
export function updateEndpoints(parts: Parts): Endpoint[] {
  return [
    listEndpoint(parts),
    createEndpoint(parts),
    readEndpoint(parts),
    replaceEndpoint(parts),
    removeEndpoint(parts),
  ];
}

export function viewOfUpdate(update: StoredUpdate): UpdateView {
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

function listEndpoint({ store }: Parts): Endpoint {
  return endpoint({
    method: 'GET',
    path: PATH,
    access: 'read',
    tag: TAG,
    summary: 'List the updates of an incident, newest first',
    query: cursorPage,
    answers: { 200: { description: 'A page of updates.', schema: historyOf(updateView) } },
    async handle(request) {
      const { limit, cursor } = request.query;
      const updates = await requireUpdates(store, request);
      const before = decodeCursor(cursor, cursorKeys);
      const rows = [...updates]
        .sort((a, b) => b.at - a.at || b.id - a.id)
        .filter(({ at, id }) => before === null || at < before[0] || (at === before[0] && id < before[1]));
      return ok(historyPage(rows.slice(0, limit + 1), limit, viewOfUpdate, ({ at, id }) => [at, id]));
    },
  });
}

function createEndpoint({ store, incidents, ...parts }: Parts): Endpoint {
  return endpoint({
    method: 'POST',
    path: PATH,
    access: 'write',
    tag: TAG,
    summary: 'Publish an update of an incident',
    description:
      "Visitors of the incident's status pages see it at once, and subscribers are told. An incident of a monitor may have updates too.",
    body: updateBody,
    repeats: updateView,
    headers: ['Idempotency-Key'],
    answers: { 201: createdDocument(updateView, 'Published') },
    problems: ['conflict', 'reference-not-found'],
    async handle(request) {
      const incidentId = idOf(request, 'incident_id');
      const { body } = request;
      const path = PATH.replace('{incident_id}', String(incidentId));
      const once = createsOnce(request, { path, body }, parts);
      const { id, isNew } = await incidents.transaction(workspaceOf(request), (change) =>
        once(change.tx, () => change.addUpdate(incidentId, updateContent(body, change.now))),
      );
      const answered = answerOf(await requireUpdates(store, request), id);
      return createdAnswer(answered, { noun: 'update', verb: 'published', id, path, isNew });
    },
  });
}

function readEndpoint({ store }: Parts): Endpoint {
  return endpoint({
    method: 'GET',
    path: `${PATH}/{id}`,
    access: 'read',
    tag: TAG,
    summary: 'Read an update of an incident',
    headers: ['If-None-Match'],
    answers: { 200: { description: 'The update.', schema: updateView, headers: ['ETag'] } },
    handle: (request) => requireUpdate(store, request),
  });
}

function replaceEndpoint({ store, incidents }: Parts): Endpoint {
  return endpoint({
    method: 'PUT',
    path: `${PATH}/{id}`,
    access: 'write',
    tag: TAG,
    summary: 'Correct an update of an incident',
    description: 'Pages show the corrected text. Subscribers are not told again.',
    body: updateBody,
    repeats: updateView,
    headers: ['If-Match'],
    answers: { 200: { description: 'The update as it is now.', schema: updateView, headers: ['ETag'] } },
    problems: ['reference-not-found'],
    async handle(request) {
      const { body } = request;
      const [incidentId, id] = [idOf(request, 'incident_id'), idOf(request)];
      const before = (await requireUpdates(store, request)).find((update) => update.id === id);
      await incidents.transaction(workspaceOf(request), async (change) => {
        // Without an instant it stays where it is.
        const content = updateContent(body, before?.at ?? change.now);
        await change.replaceUpdate(incidentId, id, content, versionOptions(request));
        await request.audit.write(change.tx);
      });
      return requireUpdate(store, request);
    },
  });
}

function removeEndpoint({ incidents }: Parts): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: `${PATH}/{id}`,
    access: 'write',
    tag: TAG,
    summary: 'Remove an update of an incident',
    answers: { 204: { description: 'Removed.' } },
    async handle(request) {
      await incidents.transaction(workspaceOf(request), async (change) => {
        await change.removeUpdate(idOf(request, 'incident_id'), idOf(request));
        await request.audit.write(change.tx);
      });
      return NO_CONTENT;
    },
  });
}

/** @throws Problem `not-found` when the incident does not exist or belongs to another workspace */
async function requireUpdates(
  store: ApiParts['store'],
  request: Pick<ApiRequest, 'token' | 'ids'>,
): Promise<readonly StoredUpdate[]> {
  const incidentId = idOf(request, 'incident_id');
  const incident = await findIncident(store, workspaceOf(request), incidentId);
  if (incident === null) throw new Problem('not-found', `there is no incident ${incidentId}`);
  return (await updatesOf(store, [incidentId])).get(incidentId) ?? [];
}

/** @throws Problem `not-found` */
async function requireUpdate(
  store: ApiParts['store'],
  request: Pick<ApiRequest, 'token' | 'ids'>,
): Promise<EndpointAnswer> {
  const answered = answerOf(await requireUpdates(store, request), idOf(request));
  if (answered !== null) return answered;
  const [incidentId, id] = [idOf(request, 'incident_id'), idOf(request)];
  throw new Problem('not-found', `incident ${incidentId} has no update ${id}`);
}

function answerOf(updates: readonly StoredUpdate[], id: number): EndpointAnswer | null {
  const update = updates.find((each) => each.id === id);
  if (update === undefined) return null;
  const view = viewOfUpdate(update);
  return ok(view, { etag: entityTag(update.row_version, view) });
}
