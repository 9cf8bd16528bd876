import { MONITOR_KINDS } from '@svc/shared/resources/monitors.ts';
import { idOf } from '../../api/endpoint.ts';
import { endWindow, WINDOW, type WindowView } from '../../api/routes/maintenance.ts';
import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { type State, stateLabel, stateMark } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import type { Field, Option } from '../forms/fields.ts';
import { offsetPaging, pageHead, pathWith, readListPage, warningNotices } from '../page-parts.ts';
import type { Editor } from '../resources/editor.ts';
import { formPages } from '../resources/form-pages.ts';
import { componentNames, monitorNames } from '../resources/reference-options.ts';
import {
  COMPONENT_IDS,
  choiceOf,
  LINE,
  LINES,
  localText,
  noteField,
  noteForm,
  PAGE_IDS,
} from './note-fields.ts';

const FREQUENCY_OPTIONS: readonly Option[] = [
  { value: 'once', label: 'Once' },
  { value: 'daily', label: 'Every day' },
  { value: 'weekly', label: 'Every week' },
  { value: 'monthly', label: 'Every month' },
];

const WEEKDAYS = {
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
  sun: 'Sunday',
} as const;

const WEEKDAY_OPTIONS: readonly Option[] = Object.entries(WEEKDAYS).map(([value, label]) => ({
  value,
  label,
}));

const WEEKS: Readonly<Record<number, string>> = {
  1: 'first',
  2: 'second',
  3: 'third',
  4: 'fourth',
  [-1]: 'last',
};

const WEEK_OPTIONS: readonly Option[] = [
  { value: 'date', label: 'The date on which it begins' },
  ...[1, 2, 3, 4, -1].map((week) => ({
    value: String(week),
    label: `The ${WEEKS[week]} of the weekday above`,
  })),
];

/** The repetition of a window in words: `every 2 weeks on Monday and Thursday`. */
function repeatWords({ repeat }: Pick<WindowView, 'repeat'>): string {
  if (repeat === null) return 'once';
  const { frequency, interval, weekdays, week } = repeat;
  const unit = { daily: 'day', weekly: 'week', monthly: 'month' }[frequency];
  const every = interval === 1 ? `every ${unit}` : `every ${interval} ${unit}s`;
  const days = (weekdays ?? []).map((day) => WEEKDAYS[day]);
  if (days.length === 0) return frequency === 'monthly' ? `${every} on the same date` : every;
  if (week !== null) return `${every} on the ${WEEKS[week]} ${days[0]}`;
  return `${every} on ${new Intl.ListFormat('en').format(days)}`;
}

type Json = Readonly<Record<string, unknown>>;

const REPEAT: readonly Field[] = [
  noteField('frequency', 'How often', choiceOf(FREQUENCY_OPTIONS), { isRequired: true }),
  noteField(
    'interval',
    'Every',
    { type: 'number', minimum: 1, maximum: 99 },
    { help: 'A number of days, weeks or months.' },
  ),
  noteField(
    'weekdays',
    'Days of the week',
    { type: 'choices', options: WEEKDAY_OPTIONS },
    {
      help: 'Every week: the days on which it happens; without one, the day on which it begins. Every month: one day, together with the choice below.',
    },
  ),
  noteField('week', 'Day of the month', choiceOf(WEEK_OPTIONS), {
    help: 'Every month only. Months that lack the date are left out.',
    isRequired: true,
  }),
  noteField(
    'until',
    'Last time',
    { type: 'local' },
    { help: 'No occurrence begins after it. Empty: for ever.' },
  ),
];

const WINDOW_FIELDS: readonly Field[] = [
  noteField('title', 'Title', LINE, { help: 'What is done, in one line.', isRequired: true }),
  noteField('text', 'What visitors are told', LINES),
  noteField('starts_at', 'Begins', { type: 'local' }, { isRequired: true }),
  noteField('ends_at', 'Ends', { type: 'local' }, { isRequired: true }),
  noteField(
    'time_zone',
    'Time zone',
    { type: 'text', isMultiline: false, isOwnZone: true },
    { help: 'A name such as `Europe/Berlin`. All times of this form are its local times. Empty: UTC.' },
  ),
  noteField('repeat', 'Repeats', { type: 'group', fields: REPEAT }),
  noteField(
    'monitor_ids',
    'Monitors whose alerts are held',
    { type: 'references', kinds: [...MONITOR_KINDS] },
    { help: 'The window does not count for their uptime.' },
  ),
  noteField('page_ids', 'Status pages that show it', PAGE_IDS, {
    help: 'Pages that show one of the monitors show it too.',
  }),
  noteField('component_ids', 'Components that it affects', COMPONENT_IDS, {
    help: 'Components of the monitors are affected too.',
  }),
];

const WINDOW_EDITOR: Editor = {
  form: noteForm(WINDOW_FIELDS, { hasSections: true }),
  objects: WINDOW,
  noun: 'maintenance window',
  newTitle: 'Schedule maintenance',
  heading: 'Change the window',
  list: { href: '/maintenance', label: 'Maintenance' },
  nameOf: ({ title }) => String(title),
  initial: { repeat: { frequency: 'once', week: 'date' } },
  newPath: '/maintenance/new',
  editPath: (id) => `/maintenance/${id}/edit`,
  after: (id) => (id === null ? '/maintenance' : `/maintenance/${id}`),
  create: 'Schedule',
  toForm: withLocalTimes,
  toBody: windowBody,
};

/**
 * Converts a window of the API for the form. Times become local times of the window's zone. A window
 * that does not repeat gets the repetition `once`, because the form has fields for a repetition.
 */
function withLocalTimes(window: Json): Json {
  const zone = String(window.time_zone);
  const repeat = window.repeat as Json | null;
  return {
    ...window,
    starts_at: localText(window.starts_at, zone),
    ends_at: localText(window.ends_at, zone),
    repeat:
      repeat === null
        ? { frequency: 'once', week: 'date' }
        : {
            ...repeat,
            week: repeat.week === null ? 'date' : String(repeat.week),
            until: localText(repeat.until, zone),
          },
  };
}

/**
 * Makes the request body from a filled-in form. If the time zone is unchanged, unchanged times
 * keep their stored instants, because a local time can mean two instants when clocks are set back.
 */
function windowBody(filled: Json, stored: { readonly body: Json; readonly answered: Json } | null): Json {
  const { frequency, interval, weekdays, week, until } = filled.repeat as Json;
  const { starts_at: startsAt, ends_at: endsAt } = filled;
  const known = stored !== null && stored.body.time_zone === filled.time_zone ? stored : null;
  const [shown, answered] = [known?.body ?? {}, known?.answered ?? {}];
  const [shownRepeat, answeredRepeat] = [(shown.repeat ?? {}) as Json, (answered.repeat ?? {}) as Json];
  return {
    ...filled,
    time_zone: filled.time_zone ?? 'UTC',
    starts_at: startsAt === shown.starts_at ? answered.starts_at : (startsAt ?? ''),
    ends_at: endsAt === shown.ends_at ? answered.ends_at : (endsAt ?? ''),
    text: filled.text ?? '',
    repeat:
      frequency === 'once'
        ? null
        : {
            frequency,
            interval,
            weekdays,
            week: week === 'date' || week === null ? null : Number(week),
            until: until === shownRepeat.until ? answeredRepeat.until : until,
          },
  };
}

const LIMIT = 50;

const STATES: Readonly<Record<WindowView['state'], readonly [State, string]>> = {
  planned: ['unknown', 'Planned'],
  active: ['maintenance', 'Active'],
  ended: ['operational', 'Ended'],
};

/** Shape, word and colour of a window's state. */
function windowState({ state }: Pick<WindowView, 'state'>): Html {
  const [mark, word] = STATES[state];
  return stateLabel(mark, word);
}

const maintenanceList: DashboardPage = {
  method: 'GET',
  path: '/maintenance',
  scope: 'read',
  navigation: { label: 'Maintenance', group: 'Watch' },
  async handle({ api, query, hasScope }) {
    const state = Object.keys(STATES).find((name) => name === query.get('state'));
    const windows = await readListPage(query, (offset) =>
      api.read(WINDOW.list, { limit: LIMIT, offset, state }),
    );
    const { data } = windows;
    const add = hasScope('write')
      ? html`<a class="button button-main" href="/maintenance/new">Schedule</a>`
      : NO_HTML;
    return {
      title: 'Maintenance',
      body: html`${pageHead('Maintenance', {
        actions: add,
        lead: 'During a window the alerts of its monitors are held, and the time does not count for their uptime. After its end, channels are alerted about lasting changes.',
      })}
${stateTabs(query, state)}
${data.length === 0 ? (state === undefined ? nothingPlanned(add) : html`<p class="soft">No window is in this state.</p>`) : windowTable(data)}
${offsetPaging('/maintenance', query, windows)}`,
    };
  },
};

function stateTabs(query: URLSearchParams, shown: string | undefined): Html {
  const tab = (state: string | null, label: Html | string) =>
    html`<li><a href="${pathWith('/maintenance', query, { state, offset: null })}"${
      (shown ?? null) === state ? html` aria-current="true"` : NO_HTML
    }>${label}</a></li>`;
  return html`<nav aria-label="Windows by state"><ul class="tabs plain-list">${tab(null, 'All')}${Object.entries(
    STATES,
  ).map(([name, [mark, word]]) =>
    tab(name, html`<span class="state state-${mark}">${stateMark(mark)}</span>${word}`),
  )}</ul></nav>`;
}

function nothingPlanned(add: Html): Html {
  return html`<div class="empty"><p>No maintenance is planned. Schedule a window before you work on a monitored system, so that no alert wakes anybody.</p>${add}</div>`;
}

function windowTable(windows: readonly WindowView[]): Html {
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Maintenance windows"><table>
<thead><tr><th scope="col">State</th><th scope="col">Title</th><th scope="col">From</th><th scope="col">Until</th><th scope="col">Repeats</th><th scope="col" class="number">Monitors</th></tr></thead>
<tbody>${windows.map((window) => {
    const { id, title, occurrence, time_zone: zone, repeat, monitor_ids: monitors } = window;
    return html`<tr><td>${windowState(window)}</td><th scope="row" class="text-cell"><a href="/maintenance/${id}">${title}</a></th>
<td>${timeOf(occurrence?.starts_at)}</td><td>${timeOf(occurrence?.ends_at)}</td>
<td class="soft text-cell">${repeatWords(window)}${repeat === null ? NO_HTML : `, ${zone}`}</td><td class="number">${monitors.length.toLocaleString('en')}</td></tr>`;
  })}</tbody></table></div>`;
}

function timeOf(text: string | undefined): Html {
  return text === undefined ? html`<span class="soft">none</span>` : instant(Date.parse(text));
}

/** The page of a window names at most this number of monitors, of status pages, and of components. */
const MOST_NAMED = 100;

const readPage: DashboardPage = {
  method: 'GET',
  path: '/maintenance/{id}',
  scope: 'read',
  async handle(request): Promise<DashboardAnswer> {
    const window = await request.api.read(WINDOW.read, { id: idOf(request) });
    const { title, text, warnings } = window;
    return {
      title,
      styles: [FORM_STYLE],
      body: html`${pageHead(title, {
        above: [{ href: '/maintenance', label: 'Maintenance' }],
        actions: actionsOf(request, window),
        lead: windowState(window),
      })}
${warningNotices(warnings)}
${text === '' ? NO_HTML : html`<section class="stack" aria-labelledby="told"><h2 id="told">What visitors are told</h2><p class="lines">${text}</p></section>`}
<section class="stack" aria-labelledby="when"><h2 id="when">When</h2>${timesOf(window)}</section>
<section class="stack" aria-labelledby="monitors"><h2 id="monitors">Monitors whose alerts are held</h2>${await monitorsOf(request, window)}</section>
<section class="stack" aria-labelledby="shown"><h2 id="shown">Where visitors see it</h2>${await shownOn(request, window)}</section>`,
    };
  },
};

function actionsOf({ hasScope, formToken }: DashboardRequest, { id, title, state }: WindowView): Html {
  if (!hasScope('write')) return NO_HTML;
  const act = (action: 'end' | 'remove', label: string, look: string) =>
    html`<form method="post" action="/maintenance/${id}/${action}">${formToken}<button class="${look}" aria-label="${label}: ${title}">${label}</button></form>`;
  return html`<a class="button" href="/maintenance/${id}/edit">Edit</a>${
    state === 'ended' ? NO_HTML : act('end', 'End now', 'button')
  }${act('remove', 'Remove', 'button-danger')}`;
}

function timesOf(window: WindowView): Html {
  const { starts_at, ends_at, time_zone: zone, repeat, occurrence, ended_at: ended, state } = window;
  const span = (from: string, until: string) =>
    html`${instant(Date.parse(from))} to ${instant(Date.parse(until))}`;
  const next = state === 'active' ? 'Now' : 'Next';
  return html`<dl class="facts">
${occurrence === null || repeat === null ? NO_HTML : html`<dt>${next}</dt><dd>${span(occurrence.starts_at, occurrence.ends_at)}</dd>`}
<dt>${repeat === null ? 'Once' : 'First'}</dt><dd>${span(starts_at, ends_at)}</dd>
${repeat === null ? NO_HTML : html`<dt>Repeats</dt><dd>${repeatWords(window)}, by the clocks of ${zone}</dd>`}
${repeat === null ? NO_HTML : html`<dt>Last time</dt><dd>${repeat.until === null ? 'It goes on for ever.' : html`None begins after ${instant(Date.parse(repeat.until))}.`}</dd>`}
${ended === null ? NO_HTML : html`<dt>Ended</dt><dd>${instant(Date.parse(ended))}, by an operator</dd>`}
</dl>`;
}

async function monitorsOf({ api }: DashboardRequest, { monitor_ids: ids }: WindowView): Promise<Html> {
  if (ids.length === 0)
    return html`<p class="soft">None: no alert is held, and every uptime counts the time.</p>`;
  const shown = ids.slice(0, MOST_NAMED);
  const names = await monitorNames(api, shown);
  return html`<ul class="plain-list columns">${shown.map(
    (id) => html`<li><a href="/monitors/${id}">${names.get(id) ?? `Monitor ${id}`}</a></li>`,
  )}</ul>${moreLine(ids.length - shown.length)}`;
}

async function shownOn({ api }: DashboardRequest, window: WindowView): Promise<Html> {
  const { page_ids: pages, component_ids: components, monitor_ids: monitors } = window;
  const shown = components.slice(0, MOST_NAMED);
  const names = await componentNames(api, shown);
  const titles = await Promise.all(pages.slice(0, MOST_NAMED).map((id) => pageTitle(api, id)));
  return html`${monitors.length === 0 ? NO_HTML : html`<p class="soft">Pages that show one of the monitors show the window too.</p>`}
${titles.length === 0 ? NO_HTML : html`<ul class="plain-list columns">${titles}</ul>${moreLine(pages.length - titles.length)}`}
${shown.length === 0 ? NO_HTML : html`<p>Affected components: ${shown.map((id) => names.get(id) ?? `component ${id}`).join(', ')}</p>${moreLine(components.length - shown.length)}`}
${titles.length + shown.length + monitors.length === 0 ? html`<p class="soft">Nowhere.</p>` : NO_HTML}`;
}

async function pageTitle(api: DashboardRequest['api'], id: string): Promise<Html> {
  const called = await api.call(STATUS_PAGE.read, { id });
  const title = called.problem === null ? called.body.title : `Page ${id}`;
  return html`<li><a href="/pages/${id}">${title}</a></li>`;
}

function moreLine(count: number): Html {
  return count === 0 ? NO_HTML : html`<p class="soft">and ${count.toLocaleString('en')} more</p>`;
}

/** Makes the page that ends or removes a window. A form sends its POST request to this page. */
function action(name: 'end' | 'remove', done: string): DashboardPage {
  return {
    method: 'POST',
    path: `/maintenance/{id}/${name}`,
    scope: 'write',
    async handle(request) {
      const id = idOf(request);
      const { api } = request;
      const called = name === 'end' ? api.call(endWindow, { id }) : api.call(WINDOW.remove, { id });
      const { problem } = await called;
      return {
        redirect: name === 'end' ? `/maintenance/${id}` : '/maintenance',
        notice: problem === null ? done : `Nothing was changed: ${problem.message}`,
      };
    },
  };
}

/** All pages of maintenance windows. */
export const maintenancePages: readonly DashboardPage[] = [
  maintenanceList,
  readPage,
  ...formPages('/maintenance/new', '/maintenance/{id}/edit', 'id', () => WINDOW_EDITOR),
  action('end', 'The window has ended. The alerts that it held are sent.'),
  action('remove', 'The window was removed, as if it had never existed.'),
];
