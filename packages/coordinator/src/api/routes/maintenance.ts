import { LIMITS } from '@svc/shared/limits.ts';
import { z } from 'zod';
import { componentsByIds } from '../../store/declaration/status-pages.ts';
import {
  findWindow,
  listWindows,
  type StoredWindow,
  type WindowContent,
  type WindowFilter,
} from '../../store/incidents/maintenance-windows.ts';
import { isTimeZone, localAt } from '../../verdict/local-time.ts';
import {
  beginsWithItself,
  FREQUENCIES,
  nextOccurrence,
  overlapsItself,
  type Repetition,
  WEEKDAYS,
  type WindowTimes,
  weekdayOf,
} from '../../verdict/maintenance-window.ts';
import { id, instant } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import {
  idList,
  instantOrLocal,
  instantText,
  nameSchema,
  noteText,
  numbers,
  readInstant,
} from '../body-members.ts';
import { endpoint, idOf, type ServedEndpoint, workspaceOf } from '../endpoint.ts';
import { listOf, offsetPage } from '../lists.ts';
import { defineObjects, furtherChange, type Member, serveObjects, versionOptions } from '../objects.ts';
import { invalid } from '../problem.ts';

/**
 * States of a maintenance window. `planned`: an occurrence will begin later.
 * `active`: an occurrence is in progress. `ended`: no further occurrence will begin.
 */
const WINDOW_STATES = ['planned', 'active', 'ended'] as const;

/**
 * Returns the state of a window.
 *
 * @param now epoch ms
 */
function windowState(times: WindowTimes, now: number): (typeof WINDOW_STATES)[number] {
  const next = nextOccurrence(times, now);
  if (next === null) return 'ended';
  return next.from <= now ? 'active' : 'planned';
}

const windowView = z
  .object({
    id,
    title: z.string(),
    text: z.string(),
    starts_at: instant,
    ends_at: instant,
    time_zone: z.string(),
    repeat: z
      .object({
        frequency: z.enum(FREQUENCIES),
        interval: z.number().int(),
        weekdays: z.array(z.enum(WEEKDAYS)).nullable(),
        week: z.number().int().nullable(),
        until: instant.nullable(),
      })
      .nullable(),
    monitor_ids: z.array(id),
    page_ids: z.array(id),
    component_ids: z.array(id),
    state: z.enum(WINDOW_STATES),
    occurrence: z
      .object({ starts_at: instant, ends_at: instant })
      .nullable()
      .meta({ description: 'The present or the next occurrence. Null where no further one comes.' }),
    ended_at: instant
      .nullable()
      .meta({ description: 'When an operator ended it. Null where no operator did.' }),
    warnings: z
      .array(z.string())
      .meta({ description: 'Warnings about things that the window does not do, in sentences for people.' }),
    created_at: instant,
    updated_at: instant,
  })
  .meta({
    examples: [
      {
        id: '4',
        title: 'Update of the database',
        text: 'Orders may be slow.',
        starts_at: '2026-11-25T01:00:00.000Z',
        ends_at: '2026-11-25T03:00:00.000Z',
        time_zone: 'Europe/Berlin',
        repeat: { frequency: 'weekly', interval: 1, weekdays: ['wed'], week: null, until: null },
        monitor_ids: ['12'],
        page_ids: [],
        component_ids: [],
        state: 'planned',
        occurrence: { starts_at: '2026-11-25T01:00:00.000Z', ends_at: '2026-11-25T03:00:00.000Z' },
        ended_at: null,
        warnings: [],
        created_at: '2026-11-22T10:00:00.000Z',
        updated_at: '2026-11-22T10:00:00.000Z',
      },
    ],
  });
export type WindowView = z.infer<typeof windowView>;

const FREQUENCY_MESSAGE = `must be ${FREQUENCIES.join(', ')}`;
const WEEKDAY_MESSAGE = `must be one of ${WEEKDAYS.join(', ')}`;

const repeatBody = z
  .strictObject({
    frequency: z.enum(FREQUENCIES, FREQUENCY_MESSAGE),
    interval: z
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(LIMITS.maintenanceInterval, `may be at most ${LIMITS.maintenanceInterval}`)
      .nullish()
      .meta({ description: 'Number of days, weeks or months between occurrences (default 1).' }),
    weekdays: z.array(z.enum(WEEKDAYS, WEEKDAY_MESSAGE)).max(7).nullish().meta({
      description:
        '`weekly`: the days of the week; the default is that of `starts_at`. `monthly`: one day, with `week`.',
    }),
    week: z.literal([1, 2, 3, 4, -1], 'must be 1, 2, 3, 4 or -1').nullish().meta({
      description:
        '`monthly`: which of the weekdays of a month, -1 for the last. Without it, the day of the month of `starts_at`; months without that day are left out.',
    }),
    until: instantOrLocal('No occurrence begins after this instant. The default is for ever.').nullish(),
  })
  .meta({ description: 'How the window repeats. Null: it happens once.' });

const windowBody = z
  .strictObject({
    title: nameSchema('What is done, in one line.'),
    text: noteText('The text for visitors.').nullish(),
    starts_at: instantOrLocal(
      'Beginning of the first occurrence: an instant (RFC 3339), or without an offset a local time of `time_zone`.',
    ),
    ends_at: instantOrLocal(
      `End of the first occurrence, at most ${LIMITS.maintenanceMs / 86_400_000} days later. Later occurrences end at the same local time.`,
    ),
    time_zone: z
      .string('must be a string')
      .refine(isTimeZone, 'is not a time zone that svc knows: use a name as Europe/Berlin, or UTC')
      .nullish()
      .meta({ description: 'Time zone of the local times and days. The default is UTC.' }),
    repeat: repeatBody.nullish(),
    monitor_ids: idList('Monitors whose alerts are held and whose uptime leaves the window out.'),
    page_ids: idList(
      'Status pages that show the window, in addition to the pages that show one of its monitors.',
    ),
    component_ids: idList(
      'Components that pages show as under maintenance, in addition to those of the monitors.',
    ),
  })
  .meta({
    examples: [
      {
        title: 'Update of the database',
        text: 'Orders may be slow.',
        starts_at: '2026-11-25T02:00',
        ends_at: '2026-11-25T04:00',
        time_zone: 'Europe/Berlin',
        repeat: { frequency: 'weekly', weekdays: ['wed'] },
        monitor_ids: ['12'],
      },
    ],
  });

type WindowBody = z.infer<typeof windowBody>;
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/**
 * Makes the content of a window from a body.
 *
 * @throws Problem `invalid` that lists all errors
 */
function windowContent(body: WindowBody): WindowContent {
  const timeZone = body.time_zone ?? 'UTC';
  const startsAt = readInstant(body.starts_at, timeZone);
  const endsAt = readInstant(body.ends_at, timeZone);
  const repeat = repetitionOf(body.repeat ?? null, startsAt, timeZone);
  const content: WindowContent = {
    title: body.title,
    text: body.text ?? '',
    startsAt,
    endsAt,
    timeZone,
    repeat,
    monitorIds: numbers(body.monitor_ids),
    pageIds: numbers(body.page_ids),
    componentIds: numbers(body.component_ids),
  };
  const issues = [...timeIssues(content), ...repeatIssues(content), ...targetIssues(content)];
  if (issues.length > 0) throw invalid(issues);
  return content;
}

function repetitionOf(body: WindowBody['repeat'], startsAt: number, timeZone: string): Repetition | null {
  if (body === null || body === undefined) return null;
  const { frequency, interval, weekdays, week, until } = body;
  const own = frequency === 'weekly' ? [weekdayOf(localAt(timeZone, startsAt))] : [];
  return {
    frequency,
    interval: interval ?? 1,
    weekdays: weekdays === null || weekdays === undefined ? own : [...new Set(weekdays)],
    week: week ?? null,
    until: until === null || until === undefined ? null : readInstant(until, timeZone),
  };
}

function* timeIssues({ startsAt, endsAt }: WindowContent): Generator<Issue> {
  if (endsAt <= startsAt) yield { path: ['ends_at'], message: 'must be after starts_at' };
  else if (endsAt - startsAt > LIMITS.maintenanceMs) {
    const days = LIMITS.maintenanceMs / 86_400_000;
    yield { path: ['ends_at'], message: `may be at most ${days} days after starts_at` };
  }
}

function* repeatIssues(content: WindowContent): Generator<Issue> {
  const { repeat, startsAt, endsAt } = content;
  if (repeat === null || endsAt <= startsAt) return;
  const { frequency, weekdays, week, until } = repeat;
  const times = { ...content, endedAt: null };
  if (until !== null && until < startsAt)
    yield { path: ['repeat', 'until'], message: 'must not be before starts_at' };
  if (week !== null && frequency !== 'monthly') {
    yield { path: ['repeat', 'week'], message: 'is for monthly only' };
  } else if (frequency === 'daily' && weekdays.length > 0) {
    yield { path: ['repeat', 'weekdays'], message: 'are for weekly and monthly only' };
  } else if (frequency === 'weekly' && weekdays.length === 0) {
    yield { path: ['repeat', 'weekdays'], message: 'must have at least one day' };
  } else if (frequency === 'monthly' && weekdays.length !== (week === null ? 0 : 1)) {
    const message = week === null ? 'needs week as well' : 'must have exactly one day, together with week';
    yield { path: ['repeat', 'weekdays'], message };
  } else if (!beginsWithItself(times)) {
    const day = weekdayOf(localAt(content.timeZone, startsAt));
    const message = `must contain the day of starts_at, a ${day} in ${content.timeZone}`;
    yield { path: ['repeat', week === null ? 'weekdays' : 'week'], message };
  } else if (overlapsItself(times)) {
    yield { path: ['repeat'], message: 'begins again before it has ended' };
  }
}

function* targetIssues({ monitorIds, pageIds, componentIds }: WindowContent): Generator<Issue> {
  if (monitorIds.length + pageIds.length + componentIds.length > 0) return;
  yield { path: ['monitor_ids'], message: 'the window needs a monitor, a page or a component' };
}

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
      'During an occurrence the alerts of its monitors are held. When it ends, each channel gets the status that the monitor then has, if it differs from the last status that the channel got. The uptime of the monitors leaves the time out. A window in the past holds nothing, and changes the uptime of that time.',
    body: windowBody,
    problems: ['conflict', 'reference-not-found'],
  },
  read: { summary: 'Read a maintenance window', answer: 'The maintenance window.' },
  replace: {
    summary: 'Replace a maintenance window',
    description:
      'Alerts that it no longer holds are sent at once. Its past changes too, and with it the uptime of that time. To end a window and keep its past, use `/end`.',
    answer: 'The window as it is now.',
    body: windowBody,
    problems: ['reference-not-found'],
  },
  remove: {
    summary: 'Remove a maintenance window, as if it had never been',
    description:
      'Alerts that it holds are sent at once. Its past counts for the uptime again. Subscribers of status pages who got the news of its beginning get the news of its end.',
    headers: ['If-Match'],
  },
});

export const endWindow = endpoint({
  method: 'POST',
  path: '/v1/maintenance-windows/{id}/end',
  access: 'write',
  tag: 'Maintenance',
  summary: 'End a maintenance window now, with all of its later occurrences',
  description: 'Alerts that it holds are sent at once. The time before stays maintenance.',
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
      async findObject(request, windowId): Promise<Member | null> {
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

/**
 * Makes the windows as answers show them.
 *
 * @param now epoch ms
 */
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
