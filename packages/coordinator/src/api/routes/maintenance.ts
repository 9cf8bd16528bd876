import { z } from 'zod';
import { nextOccurrence } from '../../domain/maintenance-window.ts';
import { componentsByIds } from '../../store/components.ts';
import {
  findWindow,
  listWindows,
  type StoredWindow,
  type WindowFilter,
} from '../../store/maintenance-windows.ts';
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
import { instantText } from '../instants.ts';
import { windowBody, windowContent } from '../maintenance-body.ts';
import { WINDOW_STATES, type WindowView, windowState, windowView } from '../note-answers.ts';
import { listOf, offsetPage } from '../paging.ts';
import { Problem } from '../problem.ts';

const PATH = '/v1/maintenance-windows';
const TAG = 'Maintenance';

const filters = {
  state: z
    .enum(WINDOW_STATES, `must be one of ${WINDOW_STATES.join(', ')}`)
    .optional()
    .meta({ description: 'Only windows in this state.' }),
  monitor_id: id.optional().meta({ description: 'Only windows of this monitor.' }),
  page_id: id.optional().meta({ description: 'Only windows that name this status page.' }),
};

type Parts = Pick<ApiParts, 'store' | 'secrets' | 'clock' | 'slotNow' | 'maintenance'>;

/** The endpoints of maintenance windows. */
export function maintenanceEndpoints(parts: Parts): Endpoint[] {
  return [
    listEndpoint(parts),
    createEndpoint(parts),
    readEndpoint(parts),
    replaceEndpoint(parts),
    removeEndpoint(parts),
    endEndpoint(parts),
  ];
}

function listEndpoint({ store, slotNow }: Parts): Endpoint {
  return endpoint({
    method: 'GET',
    path: PATH,
    access: 'read',
    tag: TAG,
    summary: 'List maintenance windows, by ascending id',
    query: offsetPage.extend(filters),
    answers: { 200: { description: 'A page of the list.', schema: listOf(windowView) } },
    async handle(request) {
      const { limit, offset, state, monitor_id, page_id } = request.query;
      const now = slotNow();
      const found = await listWindows(store, workspaceOf(request), filterOf(monitor_id, page_id));
      const all = found
        .filter((window) => page_id === undefined || window.pageIds.includes(Number(page_id)))
        .filter((window) => state === undefined || windowState(window, now) === state);
      const data = await viewsOf(store, all.slice(offset, offset + limit), now);
      return ok({ data, total: all.length, limit, offset });
    },
  });
}

function createEndpoint(parts: Parts): Endpoint {
  const { maintenance } = parts;
  return endpoint({
    method: 'POST',
    path: PATH,
    access: 'write',
    tag: TAG,
    summary: 'Schedule a maintenance window, once or repeating',
    description:
      'During an occurrence the alerts of its monitors are held. When it ends, each channel is told the status of the monitor then, if it differs from what the channel was last told. The uptime of the monitors leaves the time out. A window in the past holds nothing, and changes the uptime of that time.',
    body: windowBody,
    repeats: windowView,
    headers: ['Idempotency-Key'],
    answers: { 201: createdDocument(windowView) },
    problems: ['conflict', 'reference-not-found'],
    async handle(request) {
      const workspaceId = workspaceOf(request);
      const { body } = request;
      const content = windowContent(body);
      const once = createsOnce(request, { path: PATH, body }, parts);
      const { id: windowId, isNew } = await maintenance.transaction(workspaceId, (change) =>
        once(change.tx, () => change.create(content)),
      );
      const answered = await member(parts, workspaceId, windowId);
      return createdAnswer(answered, { noun: 'maintenance window', id: windowId, path: PATH, isNew });
    },
  });
}

function readEndpoint(parts: Parts): Endpoint {
  return endpoint({
    method: 'GET',
    path: `${PATH}/{id}`,
    access: 'read',
    tag: TAG,
    summary: 'Read a maintenance window',
    headers: ['If-None-Match'],
    answers: { 200: { description: 'The maintenance window.', schema: windowView, headers: ['ETag'] } },
    handle: (request) => requireWindow(parts, request),
  });
}

function replaceEndpoint(parts: Parts): Endpoint {
  return endpoint({
    method: 'PUT',
    path: `${PATH}/{id}`,
    access: 'write',
    tag: TAG,
    summary: 'Replace a maintenance window',
    description:
      'Alerts that it holds no longer are sent at once. Its past changes with it, and with it the uptime of that time: to end a window and keep its past, use `/end`.',
    body: windowBody,
    repeats: windowView,
    headers: ['If-Match'],
    answers: { 200: { description: 'The window as it is now.', schema: windowView, headers: ['ETag'] } },
    problems: ['reference-not-found'],
    async handle(request) {
      const content = windowContent(request.body);
      const windowId = idOf(request);
      await parts.maintenance.transaction(workspaceOf(request), async (change) => {
        await change.replace(windowId, content, versionOptions(request));
        await request.audit.write(change.tx);
      });
      return requireWindow(parts, request);
    },
  });
}

function removeEndpoint({ maintenance }: Parts): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: `${PATH}/{id}`,
    access: 'write',
    tag: TAG,
    summary: 'Remove a maintenance window, as if it had never been',
    description:
      'Alerts that it holds are sent at once. Its past counts for the uptime again. Subscribers of status pages who were told that it has begun are told that it is over.',
    headers: ['If-Match'],
    answers: { 204: { description: 'Removed.' } },
    async handle(request) {
      const windowId = idOf(request);
      await maintenance.transaction(workspaceOf(request), async (change) => {
        await change.remove(windowId, versionOptions(request));
        await request.audit.write(change.tx);
      });
      return NO_CONTENT;
    },
  });
}

function endEndpoint(parts: Parts): Endpoint {
  return endpoint({
    method: 'POST',
    path: `${PATH}/{id}/end`,
    access: 'write',
    tag: TAG,
    summary: 'End a maintenance window now, with all of its later occurrences',
    description: 'Alerts that it holds are sent at once. What was before stays maintenance.',
    headers: ['If-Match'],
    answers: { 200: { description: 'The window as it is now.', schema: windowView, headers: ['ETag'] } },
    async handle(request) {
      const windowId = idOf(request);
      await parts.maintenance.transaction(workspaceOf(request), async (change) => {
        await change.end(windowId, versionOptions(request));
        await request.audit.write(change.tx);
      });
      return requireWindow(parts, request);
    },
  });
}

function filterOf(monitorId: string | undefined, pageId: string | undefined): WindowFilter | null {
  if (monitorId !== undefined) return { target: 'monitors', id: Number(monitorId) };
  return pageId === undefined ? null : { target: 'pages', id: Number(pageId) };
}

/** @throws Problem `not-found` */
async function requireWindow(
  parts: Parts,
  request: Pick<ApiRequest, 'token' | 'ids'>,
): Promise<EndpointAnswer> {
  const answered = await member(parts, workspaceOf(request), idOf(request));
  if (answered === null) throw new Problem('not-found', `there is no maintenance window ${idOf(request)}`);
  return answered;
}

async function member(
  { store, slotNow }: Parts,
  workspaceId: number,
  windowId: number,
): Promise<EndpointAnswer | null> {
  const window = await findWindow(store, workspaceId, windowId);
  if (window === null) return null;
  const [view = {}] = await viewsOf(store, [window], slotNow());
  return ok(view, { etag: entityTag(window.rowVersion, view) });
}

/** @param now epoch ms */
async function viewsOf(
  store: ApiParts['store'],
  windows: readonly StoredWindow[],
  now: number,
): Promise<WindowView[]> {
  const components = await componentsByIds(
    store,
    windows.flatMap(({ componentIds }) => componentIds),
  );
  const monitorOf = new Map(components.map((component) => [component.id, component.monitor_id]));
  return windows.map((window) => viewOf(window, now, monitorOf));
}

function viewOf(
  window: StoredWindow,
  now: number,
  monitorOf: ReadonlyMap<number, number | null>,
): WindowView {
  const { repeat, endedAt } = window;
  const occurrence = nextOccurrence(window, now);
  const zone = window.unknownTimeZone;
  const ofZone =
    zone === null
      ? []
      : [`its time zone ${zone} is unknown to this version of svc: its times are taken as UTC`];
  const ofComponents = window.componentIds.flatMap((componentId) => {
    const monitorId = monitorOf.get(componentId) ?? null;
    if (monitorId === null || window.monitorIds.includes(monitorId)) return [];
    return [
      `component ${componentId} shows monitor ${monitorId}, which is not among monitor_ids: its alerts are not held, and its uptime counts`,
    ];
  });
  return {
    id: String(window.id),
    title: window.title,
    text: window.text,
    starts_at: instantText(window.startsAt),
    ends_at: instantText(window.endsAt),
    time_zone: window.timeZone,
    repeat:
      repeat === null
        ? null
        : {
            frequency: repeat.frequency,
            interval: repeat.interval,
            weekdays: repeat.weekdays.length === 0 ? null : [...repeat.weekdays],
            week: repeat.week,
            until: repeat.until === null ? null : instantText(repeat.until),
          },
    monitor_ids: window.monitorIds.map(String),
    page_ids: window.pageIds.map(String),
    component_ids: window.componentIds.map(String),
    state: windowState(window, now),
    occurrence:
      occurrence === null
        ? null
        : { starts_at: instantText(occurrence.from), ends_at: instantText(occurrence.until) },
    ended_at: endedAt === null ? null : instantText(endedAt),
    warnings: [...ofZone, ...ofComponents],
    created_at: instantText(window.createdAt),
    updated_at: instantText(window.updatedAt),
  };
}
