import type { WindowView } from '../../api/note-answers.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import { Form } from '../../web/forms.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import { type DashboardAnswer, type DashboardPage, type DashboardRequest, problemIn } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { numberIn, offsetPaging } from '../paging.ts';
import type { Listed } from '../resources/lists.ts';
import { offeredComponents, offeredMonitors, offeredPages } from './choices.ts';
import { keyField, keyHeader, type NoteField, noteFields, type Sent } from './note-form.ts';

const LIMIT = 50;
const LAST_OFFSET = 100_000;

const STATES: Readonly<Record<WindowView['state'], readonly [State, string]>> = {
  planned: ['unknown', 'Planned'],
  active: ['maintenance', 'Active'],
  ended: ['operational', 'Ended'],
};

const listPage: DashboardPage = {
  method: 'GET',
  path: '/maintenance',
  scope: 'read',
  navigation: { label: 'Maintenance', group: 'Watch' },
  async handle(request) {
    const { api, query, can } = request;
    const offset = numberIn(query, 'offset', 0, LAST_OFFSET);
    const { data, total } = await api.read<Listed<WindowView>>(
      `/v1/maintenance-windows?limit=${LIMIT}&offset=${offset}`,
    );
    const add = can('write')
      ? html`<a class="button button-main" href="/maintenance/new">Schedule</a>`
      : NO_HTML;
    return {
      title: 'Maintenance',
      body: html`${pageHead('Maintenance', {
        actions: add,
        lead: 'During a window the alerts of its monitors are held, and uptime leaves the time out. When it ends, channels are told what differs.',
      })}
${total === 0 ? html`<div class="empty"><p>No maintenance is planned. Schedule a window before you work on something that a monitor watches: nobody is woken then.</p>${add}</div>` : table(request, data)}
${offsetPaging({ path: '/maintenance', query, total, limit: LIMIT, offset })}`,
    };
  },
};

function table(request: DashboardRequest, windows: readonly WindowView[]): Html {
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Maintenance windows"><table>
<thead><tr><th scope="col">Title</th><th scope="col">State</th><th scope="col">From</th><th scope="col">Until</th><th scope="col">Repeats</th><th scope="col" class="number">Monitors</th><th scope="col">Actions</th></tr></thead>
<tbody>${windows.map((window) => row(request, window))}</tbody></table></div>`;
}

function row({ can, formToken }: DashboardRequest, window: WindowView): Html {
  const { id, title, state, occurrence, repeat, monitor_ids: monitors, time_zone: zone } = window;
  const [mark, word] = STATES[state];
  const time = (text: string | undefined) =>
    text === undefined ? html`<span class="soft">none</span>` : instant(Date.parse(text));
  const act = (action: 'end' | 'remove', label: string) =>
    html`<form method="post" action="/maintenance/${id}/${action}">${formToken}<button class="button-quiet" aria-label="${label}: ${title}">${label}</button></form>`;
  return html`<tr><th scope="row" class="text-cell">${title}</th><td>${stateLabel(mark, word)}</td>
<td>${time(occurrence?.starts_at)}</td><td>${time(occurrence?.ends_at)}</td>
<td class="soft">${repeat === null ? 'once' : `${repeat.frequency}, ${zone}`}</td><td class="number">${monitors.length}</td>
<td><div class="row">${!can('write') ? NO_HTML : html`${state === 'ended' ? NO_HTML : act('end', 'End now')}${act('remove', 'Remove')}`}</div></td></tr>`;
}

const REPEATS = [
  { value: '', label: 'Once' },
  { value: 'daily', label: 'Every day' },
  { value: 'weekly', label: 'Every week, on this day' },
  { value: 'monthly', label: 'Every month, on this date' },
];

async function fields({ api }: DashboardRequest): Promise<NoteField[]> {
  const [monitors, pages, components] = await Promise.all([
    offeredMonitors(api),
    offeredPages(api),
    offeredComponents(api, null),
  ]);
  return [
    { type: 'text', name: 'title', label: 'Title', hint: 'What is done, in one line.' },
    { type: 'lines', name: 'text', label: 'What visitors are told', hint: 'May be empty.' },
    { type: 'local', name: 'starts_at', label: 'Begins' },
    { type: 'local', name: 'ends_at', label: 'Ends' },
    { type: 'text', name: 'time_zone', label: 'Time zone', hint: 'A name as Europe/Berlin, or UTC.' },
    { type: 'choice', name: 'repeat', label: 'Repeats', options: REPEATS },
    { type: 'ticks', name: 'monitor_ids', label: 'Monitors whose alerts are held', options: monitors },
    { type: 'ticks', name: 'page_ids', label: 'Status pages that show it', options: pages },
    { type: 'ticks', name: 'component_ids', label: 'Components that it affects', options: components },
  ];
}

async function formPage(request: DashboardRequest, sent: Sent): Promise<DashboardAnswer> {
  const title = 'Schedule maintenance';
  return {
    title,
    status: sent.problem?.status ?? 200,
    body: html`${pageHead(title, { above: [{ href: '/maintenance', label: 'Maintenance' }] })}
<form class="form" method="post" action="/maintenance/new">${request.formToken}${keyField(sent)}${noteFields(await fields(request), sent)}
<p class="row"><button class="button-main">Schedule</button><a class="button" href="/maintenance">Cancel</a></p></form>`,
  };
}

const newPage: DashboardPage = {
  method: 'GET',
  path: '/maintenance/new',
  scope: 'write',
  handle: (request) =>
    formPage(request, { form: new Form(new URLSearchParams({ time_zone: 'UTC' })), problem: null }),
};

const createPage: DashboardPage = {
  method: 'POST',
  path: '/maintenance/new',
  scope: 'write',
  async handle(request) {
    const { api, form } = request;
    const frequency = form.text('repeat');
    const planned = {
      title: form.text('title'),
      text: form.text('text'),
      starts_at: form.text('starts_at'),
      ends_at: form.text('ends_at'),
      time_zone: form.text('time_zone'),
      repeat: frequency === '' ? null : { frequency },
      monitor_ids: form.all('monitor_ids'),
      page_ids: form.all('page_ids'),
      component_ids: form.all('component_ids'),
    };
    const answer = await api.call('POST', '/v1/maintenance-windows', planned, keyHeader(form));
    const problem = problemIn(answer);
    if (problem !== null) return formPage(request, { form, problem });
    const { title, warnings } = answer.body as WindowView;
    return { redirect: '/maintenance', notice: [`“${title}” is scheduled.`, ...warnings].join(' ') };
  },
};

/** Ends or removes a window, and says so. */
function action(name: 'end' | 'remove', done: string): DashboardPage {
  return {
    method: 'POST',
    path: `/maintenance/{id}/${name}`,
    scope: 'write',
    async handle({ api, ids }) {
      const path = `/v1/maintenance-windows/${ids.id}`;
      const answer = name === 'end' ? await api.call('POST', `${path}/end`) : await api.call('DELETE', path);
      const problem = problemIn(answer);
      return {
        redirect: '/maintenance',
        notice: problem === null ? done : `Nothing was changed: ${problem.detail}`,
      };
    },
  };
}

/** List, schedule, end and remove maintenance windows. */
export const maintenancePages: readonly DashboardPage[] = [
  listPage,
  newPage,
  createPage,
  action('end', 'The window has ended. What it held was sent.'),
  action('remove', 'The window is removed, as if it had never been.'),
];
