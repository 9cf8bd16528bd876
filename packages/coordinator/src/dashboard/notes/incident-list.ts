import { INCIDENT, type IncidentView } from '../../api/routes/incidents.ts';

import { type State, stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { durationText, instant } from '../../web/times.ts';
import type { DashboardPage } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { cursorPaging } from '../paging.ts';
import { monitorNames } from '../resources/by-ids.ts';
import { UPDATE_WORDS } from './incident-forms.ts';

const LIMIT = 50;

/** Longest text of an update that the list shows. */
const LONGEST_TEXT = 120;

export const incidentList: DashboardPage = {
  method: 'GET',
  path: '/incidents',
  scope: 'read',
  navigation: { label: 'Incidents', group: 'Watch' },
  async handle({ api, query, can, now }) {
    const list = await api.read(INCIDENT.list, { limit: LIMIT, cursor: query.get('cursor') });
    const names = await monitorNames(
      api,
      list.data.map(({ monitor_id: id }) => id),
    );
    const add = can('write')
      ? html`<a class="button button-main" href="/incidents/new">Write an incident</a>`
      : NO_HTML;
    return {
      title: 'Incidents',
      body: html`${pageHead('Incidents', { actions: add, lead: 'What monitors found, and what you told visitors about it.' })}
${list.data.length === 0 ? html`<div class="empty"><p>There was no incident. When a monitor fails, it is listed here, and you can write about it.</p></div>` : table(list.data, names, now)}
${cursorPaging('/incidents', query, list.next_cursor)}`,
    };
  },
};

function table(incidents: readonly IncidentView[], names: ReadonlyMap<string, string>, now: number): Html {
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Incidents"><table>
<thead><tr><th scope="col">What</th><th scope="col">State</th><th scope="col">Began</th><th scope="col">Lasted</th><th scope="col">Told last</th></tr></thead>
<tbody>${incidents.map((incident) => {
    const { id, started_at: began, resolved_at: ended, latest_update: update } = incident;
    const lasted = (ended === null ? now : Date.parse(ended)) - Date.parse(began);
    return html`<tr><th scope="row" class="text-cell"><a href="/incidents/${id}">${incidentName(incident, names)}</a></th><td>${incidentState(incident)}</td>
<td>${instant(Date.parse(began))}</td><td class="since">${durationText(Math.max(0, lasted))}</td>
<td class="soft text-cell">${update === null ? 'nothing' : update.text.slice(0, LONGEST_TEXT)}</td></tr>`;
  })}</tbody></table></div>`;
}

/** What an incident is called. @param names of monitors by id */
export function incidentName(
  { title, monitor_id: monitor, id }: Pick<IncidentView, 'title' | 'monitor_id' | 'id'>,
  names: ReadonlyMap<string, string>,
): string {
  return title ?? names.get(monitor ?? '') ?? (monitor === null ? `Incident ${id}` : `Monitor ${monitor}`);
}

/** Shape, word and colour of an incident's state. */
export function incidentState({ state, resolved_at: ended, impact }: IncidentView): Html {
  const word = UPDATE_WORDS[state];
  if (ended !== null) return stateLabel('operational', word);
  const mark: State = impact === 'none' ? 'degraded' : impact;
  return stateLabel(mark, word);
}
