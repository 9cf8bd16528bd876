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
import { endpoint, idOf, type ServedEndpoint, workspaceOf } from '../endpoint.ts';
import { instantText } from '../instants.ts';
import { windowBody, windowContent } from '../maintenance-body.ts';
import { WINDOW_STATES, type WindowView, windowState, windowView } from '../note-answers.ts';
import { defineObjects, furtherChange, type Member, serveObjects, versionOptions } from '../objects.ts';
import { listOf, offsetPage } from '../paging.ts';

const filters = {
  state: z
    .enum(WINDOW_STATES, `must be one of ${WINDOW_STATES.join(', ')}`)
    .optional()
    .meta({ description: 'Only windows in this state.' }),
  monitor_id: id.optional().meta({ description: 'Only windows of this monitor.' }),
  page_id: id.optional().meta({ description: 'Only windows that name this status page.' }),
};

export const WINDOW = defineObjects({
  path: '/v1/maintenance-windows',
  tag: 'Maintenance',
  noun: 'maintenance window',
  schema: windowView,
  repeats: windowView,
  list: {
    summary: 'List maintenance windows, by ascending id',
    query: offsetPage.extend(filters),
    answer: 'A page of the list.',
    schema: listOf(windowView),
  },
  create: {
    summary: 'Schedule a maintenance window, once or repeating',
    description:
      'During an occurrence the alerts of its monitors are held. When it ends, each channel is told the status of the monitor then, if it differs from what the channel was last told. The uptime of the monitors leaves the time out. A window in the past holds nothing, and changes the uptime of that time.',
    body: windowBody,
    problems: ['conflict', 'reference-not-found'],
  },
  read: { summary: 'Read a maintenance window', answer: 'The maintenance window.' },
  replace: {
    summary: 'Replace a maintenance window',
    description:
      'Alerts that it holds no longer are sent at once. Its past changes with it, and with it the uptime of that time: to end a window and keep its past, use `/end`.',
    answer: 'The window as it is now.',
    body: windowBody,
    problems: ['reference-not-found'],
  },
  remove: {
    summary: 'Remove a maintenance window, as if it had never been',
    description:
      'Alerts that it holds are sent at once. Its past counts for the uptime again. Subscribers of status pages who were told that it has begun are told that it is over.',
    headers: ['If-Match'],
  },
});

export const endWindow = endpoint({
  method: 'POST',
  path: '/v1/maintenance-windows/{id}/end',
  access: 'write',
  tag: 'Maintenance',
  summary: 'End a maintenance window now, with all of its later occurrences',
  description: 'Alerts that it holds are sent at once. What was before stays maintenance.',
  headers: ['If-Match'],
  answers: { 200: { description: 'The window as it is now.', schema: windowView, headers: ['ETag'] } },
});

type Parts = Pick<ApiParts, 'store' | 'secrets' | 'clock' | 'slotNow' | 'maintenance'>;

/** The endpoints of maintenance windows. */
export function maintenanceEndpoints(parts: Parts): ServedEndpoint[] {
  const { store, slotNow, maintenance } = parts;
  return serveObjects(
    WINDOW,
    maintenance,
    {
      async find(request, windowId): Promise<Member | null> {
        const window = await findWindow(store, workspaceOf(request), windowId);
        if (window === null) return null;
        const [view = {}] = await viewsOf(store, [window], slotNow());
        return { view, rowVersion: window.rowVersion };
      },
      async list(request) {
        const { limit, offset, state, monitor_id, page_id } = request.query;
        const now = slotNow();
        const found = await listWindows(store, workspaceOf(request), filterOf(monitor_id, page_id));
        const all = found
          .filter((window) => page_id === undefined || window.pageIds.includes(Number(page_id)))
          .filter((window) => state === undefined || windowState(window, now) === state);
        const data = await viewsOf(store, all.slice(offset, offset + limit), now);
        return { data, total: all.length, limit, offset };
      },
      create({ body }) {
        const content = windowContent(body);
        return { keyed: body, write: (change) => change.create(content) };
      },
      replace(request) {
        const [content, versions] = [windowContent(request.body), versionOptions(request)];
        return (change) => change.replace(idOf(request), content, versions);
      },
      remove(request) {
        const versions = versionOptions(request);
        return (change) => change.remove(idOf(request), versions);
      },
      further: [
        furtherChange(endWindow, (request) => {
          const versions = versionOptions(request);
          return (change) => change.end(idOf(request), versions);
        }),
      ],
    },
    parts,
  );
}

function filterOf(monitorId: string | undefined, pageId: string | undefined): WindowFilter | null {
  if (monitorId !== undefined) return { target: 'monitors', id: Number(monitorId) };
  return pageId === undefined ? null : { target: 'pages', id: Number(pageId) };
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
