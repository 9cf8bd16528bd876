import { idOf } from '../../api/endpoint.ts';
import type { WindowView } from '../../api/routes/maintenance.ts';
import { endWindow, WINDOW } from '../../api/routes/maintenance.ts';
import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { componentNames, monitorNames } from '../resources/by-ids.ts';
import { formPages } from '../resources/form-pages.ts';
import { FORM_STYLE } from '../resources/style.ts';
import { maintenanceList, windowState } from './maintenance-list.ts';
import { repeatWords } from './repeat-words.ts';
import { WINDOW_EDITOR } from './window-form.ts';

/** Most objects of one kind that the page of a window names. */
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
${warnings.map((warning) => html`<p class="notice notice-warning">${sentence(warning)}</p>`)}
${text === '' ? NO_HTML : html`<section class="stack" aria-labelledby="told"><h2 id="told">What visitors are told</h2><p class="lines">${text}</p></section>`}
<section class="stack" aria-labelledby="when"><h2 id="when">When</h2>${timesOf(window)}</section>
<section class="stack" aria-labelledby="monitors"><h2 id="monitors">Monitors whose alerts are held</h2>${await monitorsOf(request, window)}</section>
<section class="stack" aria-labelledby="shown"><h2 id="shown">Where visitors see it</h2>${await shownOn(request, window)}</section>`,
    };
  },
};

function sentence(warning: string): string {
  return `${warning.slice(0, 1).toUpperCase()}${warning.slice(1)}.`;
}

function actionsOf({ can, formToken }: DashboardRequest, { id, title, state }: WindowView): Html {
  if (!can('write')) return NO_HTML;
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
  if (ids.length === 0) return html`<p class="soft">None: every alert goes out, and every uptime counts.</p>`;
  const shown = ids.slice(0, MOST_NAMED);
  const names = await monitorNames(api, shown);
  return html`<ul class="plain-list columns">${shown.map(
    (id) => html`<li><a href="/monitors/${id}">${names.get(id) ?? `Monitor ${id}`}</a></li>`,
  )}</ul>${more(ids.length - shown.length)}`;
}

async function shownOn({ api }: DashboardRequest, window: WindowView): Promise<Html> {
  const { page_ids: pages, component_ids: components, monitor_ids: monitors } = window;
  const shown = components.slice(0, MOST_NAMED);
  const names = await componentNames(api, shown);
  const titles = await Promise.all(pages.slice(0, MOST_NAMED).map((id) => pageTitle(api, id)));
  return html`${monitors.length === 0 ? NO_HTML : html`<p class="soft">Pages that show one of the monitors show the window too.</p>`}
${titles.length === 0 ? NO_HTML : html`<ul class="plain-list columns">${titles}</ul>${more(pages.length - titles.length)}`}
${shown.length === 0 ? NO_HTML : html`<p>Affected components: ${shown.map((id) => names.get(id) ?? `component ${id}`).join(', ')}</p>${more(components.length - shown.length)}`}
${titles.length + shown.length + monitors.length === 0 ? html`<p class="soft">Nowhere.</p>` : NO_HTML}`;
}

async function pageTitle(api: DashboardRequest['api'], id: string): Promise<Html> {
  const called = await api.call(STATUS_PAGE.read, { id });
  const title = called.problem === null ? called.body.title : `Page ${id}`;
  return html`<li><a href="/pages/${id}">${title}</a></li>`;
}

function more(count: number): Html {
  return count === 0 ? NO_HTML : html`<p class="soft">and ${count.toLocaleString('en')} more</p>`;
}

/** Ends or removes a window, and says so. */
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

/** List, schedule, change, end and remove maintenance windows. */
export const maintenancePages: readonly DashboardPage[] = [
  maintenanceList,
  readPage,
  ...formPages('/maintenance/new', '/maintenance/{id}/edit', 'id', () => WINDOW_EDITOR),
  action('end', 'The window has ended. What it held was sent.'),
  action('remove', 'The window is removed, as if it had never been.'),
];
