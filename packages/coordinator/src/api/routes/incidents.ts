import { ID } from '@svc/shared/ids.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { z } from 'zod';
import {
  type Acknowledgement,
  acknowledgementOf,
  findIncident,
  type IncidentContent,
  newestIncidents,
  type StoredIncident,
  type StoredUpdate,
  type UpdateContent,
  updatesOf,
} from '../../store/incidents/incidents.ts';
import { IMPACTS, newestUpdate, stateOf, UPDATE_STATES } from '../../verdict/incident-updates.ts';
import { id, instant } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { idList, instantText, nameSchema, noteText, numbers } from '../body-members.ts';
import { endpoint, idOf, type ServedEndpoint, workspaceOf } from '../endpoint.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../lists.ts';
import {
  defineObjects,
  furtherChange,
  type Member,
  type ObjectRequest,
  serveObjects,
  versionOptions,
} from '../objects.ts';
import { Problem } from '../problem.ts';

const UPDATE_EXAMPLE = {
  id: '9',
  incident_id: '31',
  state: 'identified' as const,
  text: 'The provider of the payments has an outage.',
  component_ids: ['7'],
  at: '2026-11-22T10:12:00.000Z',
  created_at: '2026-11-22T10:12:00.000Z',
  updated_at: '2026-11-22T10:12:00.000Z',
};

const updateView = z
  .object({
    id,
    incident_id: id,
    state: z.enum(UPDATE_STATES),
    text: z.string(),
    component_ids: z.array(id),
    at: instant,
    created_at: instant,
    updated_at: instant,
  })
  .meta({ examples: [UPDATE_EXAMPLE] });
export type UpdateView = z.infer<typeof updateView>;

/** The members of an acknowledgement in an answer. */
export const acknowledgementView = z
  .object({
    at: instant.meta({ description: 'When somebody acknowledged it.' }),
    by: z.string().meta({ description: 'Name of the token.' }),
    note: z.string().nullable(),
  })
  .meta({ examples: [{ at: '2026-11-22T10:04:00.000Z', by: 'Ada', note: 'The disk is full.' }] });

const incidentView = z
  .object({
    id,
    origin: z
      .enum(['monitor', 'operator'])
      .meta({ description: '`monitor`: svc has recorded it. `operator`: people wrote it for pages.' }),
    key: z
      .string()
      .nullable()
      .meta({ description: 'The `incident` of alerts and transitions. Null where people wrote it.' }),
    monitor_id: id.nullable(),
    title: z.string().nullable(),
    impact: z.enum(IMPACTS),
    state: z.enum(UPDATE_STATES).meta({
      description:
        'State of the newest update. An incident of a monitor is `resolved` when the monitor has recovered, and `investigating` without an update.',
    }),
    started_at: instant,
    resolved_at: instant.nullable().meta({ description: 'Null while it is open.' }),
    closure: z.string().nullable().meta({
      description:
        'Why it ended without a recovery (`monitor-deactivated`, `monitor-deleted`). Otherwise null.',
    }),
    page_ids: z.array(id),
    latest_update: updateView.nullable(),
    acknowledgement: acknowledgementView
      .nullable()
      .meta({ description: 'Null while nobody has acknowledged it. Status pages do not show it.' }),
  })
  .meta({
    examples: [
      {
        id: '31',
        origin: 'operator',
        key: null,
        monitor_id: null,
        title: 'Payments fail',
        impact: 'partial_outage',
        state: 'identified',
        started_at: '2026-11-22T10:00:00.000Z',
        resolved_at: null,
        closure: null,
        page_ids: ['5'],
        latest_update: UPDATE_EXAMPLE,
        acknowledgement: null,
      },
    ],
  });
export type IncidentView = z.infer<typeof incidentView>;

const impact = z
  .enum(IMPACTS, `must be one of ${IMPACTS.join(', ')}`)
  .nullish()
  .meta({
    description: 'How pages show the affected components while the incident is open. The default is none.',
  });

const updateMembers = {
  state: z
    .enum(UPDATE_STATES, `must be one of ${UPDATE_STATES.join(', ')}`)
    .meta({ description: 'Stage of the work. `resolved` ends an incident that people wrote themselves.' }),
  text: noteText('The text for visitors, as plain text.').refine(
    (text) => text.trim() !== '',
    'must not be empty',
  ),
  component_ids: idList('Components that are affected, as of this update.'),
  at: z.iso
    .datetime({ offset: true, error: 'must be an instant as in 2027-01-01T00:00:00Z' })
    .nullish()
    .meta({ description: 'Instant of the update (RFC 3339), not in the future (default now).' }),
};

const newIncidentBody = z
  .strictObject({
    title: nameSchema('What has happened, in one line.'),
    impact,
    page_ids: z
      .array(z.string('must be a string').regex(ID, 'must be the id of a status page'))
      .min(1, 'must have at least one page')
      .max(LIMITS.noteTargets)
      .meta({ description: 'Status pages that show it.' }),
    ...updateMembers,
  })
  .meta({
    examples: [
      {
        title: 'Payments fail',
        impact: 'partial_outage',
        page_ids: ['5'],
        state: 'investigating',
        text: 'Some payments by card fail. We are looking into it.',
        component_ids: ['7'],
      },
    ],
  });

const incidentBody = z
  .strictObject({
    title: nameSchema('What has happened, in one line.').nullish().meta({
      description:
        'What has happened, in one line. Only an incident of a monitor may have none: it has the name of the monitor.',
    }),
    impact,
    page_ids: idList(
      'Status pages that show it. Only an incident of a monitor may have none: the pages that show the monitor.',
    ),
  })
  .meta({ examples: [{ title: 'Payments fail', impact: 'down', page_ids: ['5'] }] });

const updateBody = z.strictObject({ ...updateMembers }).meta({
  examples: [
    { state: 'identified', text: 'The provider of the payments has an outage.', component_ids: ['7'] },
  ],
});

function contentOf(
  body: Pick<z.infer<typeof incidentBody>, 'title' | 'impact' | 'page_ids'>,
): IncidentContent {
  return { title: body.title ?? null, impact: body.impact ?? 'none', pageIds: numbers(body.page_ids) };
}

/**
 * Makes the content of an update from a body.
 *
 * @param now instant of the update if the body has none, epoch ms
 */
function updateContent(
  { state, text, component_ids, at }: Pick<z.infer<typeof updateBody>, keyof typeof updateMembers>,
  now: number,
): UpdateContent {
  const told = at === null || at === undefined ? now : Date.parse(at);
  return { state, text, componentIds: numbers(component_ids), at: told };
}

const filters = {
  state: z
    .enum(['open', 'resolved'], 'must be open or resolved')
    .optional()
    .meta({ description: 'Only incidents that are open, or only those that have ended.' }),
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
    summary: 'List the incidents of monitors and the incidents that people wrote, newest first',
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
      "Visitors of the incident's status pages see it at once, and subscribers get a mail. An incident of a monitor may have updates too.",
    body: updateBody,
    problems: ['conflict', 'reference-not-found'],
  },
  read: { summary: 'Read an update of an incident', answer: 'The update.' },
  replace: {
    summary: 'Correct an update of an incident',
    description: 'Pages show the corrected text. Subscribers get no second mail.',
    answer: 'The update as it is now.',
    body: updateBody,
    problems: ['reference-not-found'],
  },
  remove: { summary: 'Remove an update of an incident' },
});

const acknowledgeBody = z
  .strictObject({ note: nameSchema('What people should know, in one line.').nullish() })
  .meta({ examples: [{ note: 'The disk is full.' }] });

export const acknowledgeIncident = endpoint({
  method: 'POST',
  path: '/v1/incidents/{id}/acknowledge',
  access: 'write',
  tag: 'Incidents',
  summary: 'Acknowledge an open incident: somebody looks after it',
  description:
    'Channels get no further reminders of it. The first acknowledgement stays: the answer to a second one says who was first.',
  body: acknowledgeBody,
  problems: ['conflict'],
  answers: { 200: { description: 'The incident.', schema: incidentView, headers: ['ETag'] } },
});

export const unacknowledgeIncident = endpoint({
  method: 'POST',
  path: '/v1/incidents/{id}/unacknowledge',
  access: 'write',
  tag: 'Incidents',
  summary: 'Take the acknowledgement of an open incident back',
  problems: ['conflict'],
  answers: { 200: { description: 'The incident.', schema: incidentView, headers: ['ETag'] } },
});

const incidentKeys = z.tuple([z.number().int()]);
const updateKeys = z.tuple([z.number().int(), z.number().int()]);

type Parts = Pick<ApiParts, 'store' | 'secrets' | 'clock' | 'incidents'>;

/** The endpoints of incidents and of their updates. */
export function incidentEndpoints(parts: Parts): ServedEndpoint[] {
  return [...ofIncidents(parts), ...ofUpdates(parts)];
}

function ofIncidents(parts: Parts): ServedEndpoint[] {
  const { store, incidents } = parts;
  return serveObjects(
    INCIDENT,
    incidents,
    {
      async findObject(request, incidentId): Promise<Member | null> {
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
      further: [
        furtherChange(acknowledgeIncident, (request) => {
          const { body, token } = request;
          const acknowledgement = { by: token?.name ?? '', note: body.note ?? null };
          return (change) => change.acknowledge(idOf(request), acknowledgement);
        }),
        furtherChange(unacknowledgeIncident, (request) => (change) => change.unacknowledge(idOf(request))),
      ],
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
      async findObject(request, updateId): Promise<Member | null> {
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
        // If the body has no instant, the update keeps its stored instant.
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

/**
 * Reads the updates of the incident in the path.
 *
 * @throws Problem `not-found` when the incident does not exist or belongs to another workspace
 */
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
    acknowledgement: viewOfAcknowledgement(acknowledgementOf(incident)),
  };
}

export function viewOfAcknowledgement(
  acknowledgement: Acknowledgement | null | undefined,
): IncidentView['acknowledgement'] {
  if (acknowledgement === null || acknowledgement === undefined) return null;
  const { at, by, note } = acknowledgement;
  return { at: instantText(at), by, note };
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
