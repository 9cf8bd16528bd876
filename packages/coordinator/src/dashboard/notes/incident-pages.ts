import type { IncidentView, UpdateView } from '../../api/note-answers.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import { Form } from '../../web/forms.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { durationText, instant } from '../../web/times.ts';
import { type DashboardAnswer, type DashboardPage, type DashboardRequest, problemIn } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { offeredComponents, offeredMonitors, offeredPages } from './choices.ts';
import { keyField, keyHeader, type NoteField, noteFields, type Option, type Sent } from './note-form.ts';

type History<T> = { readonly data: readonly T[]; readonly next_cursor: string | null };

const LIMIT = 50;

const STATES: readonly Option[] = [
  { value: 'investigating', label: 'Investigating' },
  { value: 'identified', label: 'Identified' },
  { value: 'monitoring', label: 'Monitoring' },
  { value: 'resolved', label: 'Resolved' },
];

const IMPACTS: readonly Option[] = [
  { value: 'none', label: 'None: the components work' },
  { value: 'degraded', label: 'Degraded' },
  { value: 'partial_outage', label: 'Partial outage' },
  { value: 'down', label: 'Down' },
];

const listPage: DashboardPage = {
  method: 'GET',
  path: '/incidents',
  scope: 'read',
  navigation: { label: 'Incidents', group: 'Watch' },
  async handle({ api, query, can, now }) {
    const cursor = query.get('cursor');
    const more = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const list = await api.read<History<IncidentView>>(`/v1/incidents?limit=${LIMIT}${more}`);
    const names = await monitorNames(api);
    const add = can('write')
      ? html`<a class="button button-main" href="/incidents/new">Write an incident</a>`
      : NO_HTML;
    const next = list.next_cursor;
    return {
      title: 'Incidents',
      body: html`${pageHead('Incidents', { actions: add, lead: 'What monitors found, and what you told visitors about it.' })}
${list.data.length === 0 ? html`<div class="empty"><p>There was no incident. When a monitor fails, it is listed here, and you can write about it.</p></div>` : table(list.data, names, now)}
${next === null ? NO_HTML : html`<p><a class="button" href="/incidents?cursor=${next}">Older incidents</a></p>`}`,
    };
  },
};

function table(incidents: readonly IncidentView[], names: ReadonlyMap<string, string>, now: number): Html {
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Incidents"><table>
<thead><tr><th scope="col">What</th><th scope="col">State</th><th scope="col">Began</th><th scope="col">Lasted</th><th scope="col">Told last</th></tr></thead>
<tbody>${incidents.map((incident) => {
    const { id, started_at: began, resolved_at: ended, latest_update: update } = incident;
    const lasted = (ended === null ? now : Date.parse(ended)) - Date.parse(began);
    return html`<tr><th scope="row" class="text-cell"><a href="/incidents/${id}">${nameOf(incident, names)}</a></th><td>${stateOf(incident)}</td>
<td>${instant(Date.parse(began))}</td><td class="since">${durationText(Math.max(0, lasted))}</td>
<td class="soft text-cell">${update === null ? 'nothing' : update.text.slice(0, 120)}</td></tr>`;
  })}</tbody></table></div>`;
}

async function monitorNames(api: DashboardRequest['api']): Promise<ReadonlyMap<string, string>> {
  return new Map((await offeredMonitors(api)).map(({ value, label }) => [value, label]));
}

function nameOf(
  { title, monitor_id: monitor, id }: IncidentView,
  names: ReadonlyMap<string, string>,
): string {
  return title ?? names.get(monitor ?? '') ?? (monitor === null ? `Incident ${id}` : `Monitor ${monitor}`);
}

function stateOf({ state, resolved_at: ended, impact }: IncidentView): Html {
  const word = STATES.find(({ value }) => value === state)?.label ?? state;
  if (ended !== null) return stateLabel('operational', word);
  const mark: State = impact === 'none' ? 'degraded' : impact;
  return stateLabel(mark, word);
}

function updateFields(components: readonly Option[]): NoteField[] {
  return [
    { type: 'choice', name: 'state', label: 'State', options: STATES },
    { type: 'lines', name: 'text', label: 'What visitors are told' },
    { type: 'ticks', name: 'component_ids', label: 'Components that are affected', options: components },
  ];
}

const EMPTY: Sent = { form: new Form(), problem: null };

async function newForm(request: DashboardRequest, sent: Sent): Promise<DashboardAnswer> {
  const title = 'Write an incident';
  const fields: NoteField[] = [
    { type: 'text', name: 'title', label: 'Title', hint: 'What has happened, in one line.' },
    {
      type: 'ticks',
      name: 'page_ids',
      label: 'Status pages that show it',
      options: await offeredPages(request.api),
    },
    { type: 'choice', name: 'impact', label: 'Impact on the components', options: IMPACTS },
    ...updateFields(await offeredComponents(request.api, null)),
  ];
  return {
    title,
    status: sent.problem?.status ?? 200,
    body: html`${pageHead(title, { above: [{ href: '/incidents', label: 'Incidents' }] })}
<form class="form" method="post" action="/incidents/new">${request.formToken}${keyField(sent)}${noteFields(fields, sent)}
<p class="row"><button class="button-main">Publish</button><a class="button" href="/incidents">Cancel</a></p></form>`,
  };
}

const newPage: DashboardPage = {
  method: 'GET',
  path: '/incidents/new',
  scope: 'write',
  handle: (request) => newForm(request, EMPTY),
};

const createPage: DashboardPage = {
  method: 'POST',
  path: '/incidents/new',
  scope: 'write',
  async handle(request) {
    const { api, form } = request;
    const written = {
      title: form.text('title'),
      impact: form.text('impact'),
      page_ids: form.all('page_ids'),
      ...updateOf(form),
    };
    const answer = await api.call('POST', '/v1/incidents', written, keyHeader(form));
    const problem = problemIn(answer);
    if (problem !== null) return newForm(request, { form, problem });
    return {
      redirect: `/incidents/${(answer.body as IncidentView).id}`,
      notice: 'The incident is published.',
    };
  },
};

function updateOf(form: Form) {
  return { state: form.text('state'), text: form.text('text'), component_ids: form.all('component_ids') };
}

/** One incident with what was told about it, the newest first, and a form for more. */
async function incidentPage(request: DashboardRequest, sent: Sent): Promise<DashboardAnswer> {
  const { api, ids, can, formToken } = request;
  const incident = await api.read<IncidentView>(`/v1/incidents/${ids.id}`);
  const { data } = await api.read<History<UpdateView>>(`/v1/incidents/${ids.id}/updates?limit=100`);
  const names = await monitorNames(api);
  const title = nameOf(incident, names);
  const removal =
    incident.origin === 'operator' && can('write')
      ? html`<form method="post" action="/incidents/${incident.id}/remove">${formToken}<button class="button-danger">Remove</button></form>`
      : NO_HTML;
  return {
    title,
    status: sent.problem?.status ?? 200,
    body: html`${pageHead(title, { above: [{ href: '/incidents', label: 'Incidents' }], actions: removal, lead: stateOf(incident) })}
${factsOf(incident, names)}
<section class="stack"><h2>Updates</h2>${data.length === 0 ? html`<p class="soft">Nothing was told about it yet.</p>` : html`<ul class="plain-list stack">${data.map((update) => updateItem(request, update))}</ul>`}</section>
${can('write') ? await publishForm(request, incident, sent) : NO_HTML}`,
  };
}

function factsOf(incident: IncidentView, names: ReadonlyMap<string, string>): Html {
  const { monitor_id: monitor, started_at: began, resolved_at: ended, page_ids: pages } = incident;
  return html`<dl class="facts">${monitor === null ? NO_HTML : html`<dt>Monitor</dt><dd><a href="/monitors/${monitor}">${names.get(monitor) ?? `Monitor ${monitor}`}</a></dd>`}
<dt>Began</dt><dd>${instant(Date.parse(began))}</dd><dt>Ended</dt><dd>${ended === null ? 'It lasts.' : instant(Date.parse(ended))}</dd>
<dt>Shown on</dt><dd>${pages.length === 0 ? 'pages that show the monitor' : `${pages.length} ${pages.length === 1 ? 'status page' : 'status pages'}`}</dd></dl>`;
}

function updateItem({ can, formToken }: DashboardRequest, update: UpdateView): Html {
  const { id, incident_id: incident, state, at, text } = update;
  const word = STATES.find(({ value }) => value === state)?.label ?? state;
  const remove = can('write')
    ? html`<form method="post" action="/incidents/${incident}/updates/${id}/remove">${formToken}<button class="button-quiet">Remove<span class="unseen"> this update</span></button></form>`
    : NO_HTML;
  return html`<li><div class="row row-apart"><p><strong>${word}</strong> <span class="soft">${instant(Date.parse(at))}</span></p>${remove}</div>${text
    .split('\n')
    .map((line) => html`<p>${line}</p>`)}</li>`;
}

async function publishForm(request: DashboardRequest, incident: IncidentView, sent: Sent): Promise<Html> {
  const components = await offeredComponents(request.api, incident.page_ids);
  return html`<section class="stack"><h2>Publish an update</h2>
<form class="form" method="post" action="/incidents/${incident.id}/updates">${request.formToken}${keyField(sent)}${noteFields(updateFields(components), sent)}
<p class="row"><button class="button-main">Publish</button></p></form></section>`;
}

const readPage: DashboardPage = {
  method: 'GET',
  path: '/incidents/{id}',
  scope: 'read',
  handle: (request) => incidentPage(request, EMPTY),
};

const publishPage: DashboardPage = {
  method: 'POST',
  path: '/incidents/{id}/updates',
  scope: 'write',
  async handle(request) {
    const { api, ids, form } = request;
    const path = `/v1/incidents/${ids.id}/updates`;
    const problem = problemIn(await api.call('POST', path, updateOf(form), keyHeader(form)));
    if (problem !== null) return incidentPage(request, { form, problem });
    return { redirect: `/incidents/${ids.id}`, notice: 'The update is published.' };
  },
};

const removePage: DashboardPage = {
  method: 'POST',
  path: '/incidents/{id}/remove',
  scope: 'write',
  async handle({ api, ids }) {
    const problem = problemIn(await api.call('DELETE', `/v1/incidents/${ids.id}`));
    if (problem === null) return { redirect: '/incidents', notice: 'The incident is removed.' };
    return { redirect: `/incidents/${ids.id}`, notice: `Nothing was removed: ${problem.detail}` };
  },
};

const removeUpdatePage: DashboardPage = {
  method: 'POST',
  path: '/incidents/{incident_id}/updates/{id}/remove',
  scope: 'write',
  async handle({ api, ids }) {
    const path = `/v1/incidents/${ids.incident_id}/updates/${ids.id}`;
    const problem = problemIn(await api.call('DELETE', path));
    return {
      redirect: `/incidents/${ids.incident_id}`,
      notice: problem === null ? 'The update is removed.' : `Nothing was removed: ${problem.detail}`,
    };
  },
};

/** List incidents, and write what visitors are told about them. */
export const incidentPages: readonly DashboardPage[] = [
  listPage,
  newPage,
  createPage,
  readPage,
  publishPage,
  removePage,
  removeUpdatePage,
];
