import type { WindowView } from '../../api/routes/maintenance.ts';
import { WINDOW } from '../../api/routes/maintenance.ts';
import { type State, stateLabel, stateMark } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import type { DashboardPage } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { numberIn, offsetPaging, pathWith } from '../paging.ts';
import { repeatWords } from './repeat-words.ts';

const LIMIT = 50;
const LAST_OFFSET = 100_000;

const STATES: Readonly<Record<WindowView['state'], readonly [State, string]>> = {
  planned: ['unknown', 'Planned'],
  active: ['maintenance', 'Active'],
  ended: ['operational', 'Ended'],
};

/** Shape, word and colour of a window's state. */
export function windowState({ state }: Pick<WindowView, 'state'>): Html {
  const [mark, word] = STATES[state];
  return stateLabel(mark, word);
}

export const maintenanceList: DashboardPage = {
  method: 'GET',
  path: '/maintenance',
  scope: 'read',
  navigation: { label: 'Maintenance', group: 'Watch' },
  async handle({ api, query, can }) {
    const offset = numberIn(query, 'offset', 0, LAST_OFFSET);
    const state = Object.keys(STATES).find((name) => name === query.get('state'));
    const { data, total } = await api.read(WINDOW.list, { limit: LIMIT, offset, state });
    const add = can('write')
      ? html`<a class="button button-main" href="/maintenance/new">Schedule</a>`
      : NO_HTML;
    return {
      title: 'Maintenance',
      body: html`${pageHead('Maintenance', {
        actions: add,
        lead: 'During a window the alerts of its monitors are held, and uptime leaves the time out. When it ends, channels are told what differs.',
      })}
${filter(query, state)}
${data.length === 0 ? (state === undefined ? nothingPlanned(add) : html`<p class="soft">No window is in this state.</p>`) : table(data)}
${offsetPaging({ path: '/maintenance', query, total, limit: LIMIT, offset })}`,
    };
  },
};

function filter(query: URLSearchParams, shown: string | undefined): Html {
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
  return html`<div class="empty"><p>No maintenance is planned. Schedule a window before you work on something that a monitor watches: nobody is woken then.</p>${add}</div>`;
}

function table(windows: readonly WindowView[]): Html {
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
