import { idOf } from '../../api/endpoint.ts';
import { INCIDENT, type IncidentView, UPDATE, type UpdateView } from '../../api/routes/incidents.ts';

import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest, PageApi } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { componentNames, monitorNames } from '../resources/by-ids.ts';
import { newForm } from '../resources/editor.ts';
import { editPages, formPages, newPages } from '../resources/form-pages.ts';
import { FORM_STYLE } from '../resources/style.ts';
import { INCIDENT_EDITOR, NEW_INCIDENT_EDITOR, UPDATE_WORDS, updateEditor } from './incident-forms.ts';
import { incidentList, incidentName, incidentState } from './incident-list.ts';

/** Updates that the page of an incident shows: the newest. */
const UPDATES = 100;

type Names = ReadonlyMap<string, string>;

/** One incident with what was told about it, the newest first, and a form for more. */
const readPage: DashboardPage = {
  method: 'GET',
  path: '/incidents/{id}',
  scope: 'read',
  async handle(request): Promise<DashboardAnswer> {
    const { api, can } = request;
    const id = idOf(request);
    const incident = await api.read(INCIDENT.read, { id });
    const { data } = await api.read(UPDATE.list, { incident_id: id, limit: UPDATES });
    const names = await monitorNames(api, [incident.monitor_id]);
    const components = await componentNames(
      api,
      data.flatMap(({ component_ids: affected }) => affected),
    );
    const title = incidentName(incident, names);
    return {
      title,
      styles: [FORM_STYLE],
      body: html`${pageHead(title, { above: [{ href: '/incidents', label: 'Incidents' }], actions: actionsOf(request, incident), lead: incidentState(incident) })}
${factsOf(incident, names)}
<section class="stack" aria-labelledby="updates"><h2 id="updates">Updates</h2>${
        data.length === 0
          ? html`<p class="soft">Nothing was told about it yet.</p>`
          : html`<ol class="plain-list ledger">${data.map((update) => updateItem(request, update, components))}</ol>`
      }</section>
${can('write') ? await publishForm(request, incident, data[0]) : NO_HTML}`,
    };
  },
};

function actionsOf({ can, formToken }: DashboardRequest, { id, origin }: IncidentView): Html {
  if (!can('write')) return NO_HTML;
  const removal =
    origin === 'operator'
      ? html`<form method="post" action="/incidents/${id}/remove">${formToken}<button class="button-danger">Remove</button></form>`
      : NO_HTML;
  return html`<a class="button" href="/incidents/${id}/edit">Edit</a>${removal}`;
}

function factsOf(incident: IncidentView, names: Names): Html {
  const { monitor_id: monitor, started_at: began, resolved_at: ended, page_ids: pages } = incident;
  return html`<dl class="facts">${monitor === null ? NO_HTML : html`<dt>Monitor</dt><dd><a href="/monitors/${monitor}">${names.get(monitor) ?? `Monitor ${monitor}`}</a></dd>`}
<dt>Began</dt><dd>${instant(Date.parse(began))}</dd><dt>Ended</dt><dd>${ended === null ? 'It lasts.' : instant(Date.parse(ended))}</dd>
<dt>Shown on</dt><dd>${pages.length === 0 ? 'pages that show the monitor' : `${pages.length} ${pages.length === 1 ? 'status page' : 'status pages'}`}</dd></dl>`;
}

function updateItem({ can, formToken }: DashboardRequest, update: UpdateView, components: Names): Html {
  const { id, incident_id: incident, state, at, text, component_ids: affected } = update;
  const path = `/incidents/${incident}/updates/${id}`;
  const actions = can('write')
    ? html`<div class="row"><a class="button button-quiet" href="${path}">Edit<span class="unseen"> this update</span></a>
<form method="post" action="${path}/remove">${formToken}<button class="button-quiet">Remove<span class="unseen"> this update</span></button></form></div>`
    : NO_HTML;
  return html`<li><div class="row row-apart"><p><strong>${UPDATE_WORDS[state]}</strong> <span class="soft">${instant(Date.parse(at))}</span></p>${actions}</div><p class="lines">${text}</p>${
    affected.length === 0
      ? NO_HTML
      : html`<p class="soft small">Affects ${affected.map((each) => components.get(each) ?? `component ${each}, removed`).join(', ')}</p>`
  }</li>`;
}

/** A new update begins with what the newest one says. */
async function publishForm(
  request: DashboardRequest,
  incident: IncidentView,
  newest: UpdateView | undefined,
): Promise<Html> {
  const editor = updateEditor(incident.id, {
    state: incident.state,
    component_ids: newest?.component_ids ?? [],
  });
  return html`<section class="stack" aria-labelledby="publish"><h2 id="publish">Publish an update</h2>
${await newForm(request, editor)}</section>`;
}

/** Removes something of an incident, and says so. */
function removal(
  path: string,
  what: string,
  {
    remove,
    after,
  }: {
    remove(request: DashboardRequest): ReturnType<PageApi['call']>;
    after(request: DashboardRequest): string;
  },
): DashboardPage {
  return {
    method: 'POST',
    path: `${path}/remove`,
    scope: 'write',
    async handle(request) {
      const { ids } = request;
      const { problem } = await remove(request);
      if (problem === null) return { redirect: after(request), notice: `The ${what} is removed.` };
      return {
        redirect: `/incidents/${ids.incident_id ?? ids.id}`,
        notice: `Nothing was removed: ${problem.message}`,
      };
    },
  };
}

/** List incidents, and write what visitors are told about them. */
export const incidentPages: readonly DashboardPage[] = [
  incidentList,
  readPage,
  ...newPages('/incidents/new', () => NEW_INCIDENT_EDITOR),
  ...editPages('/incidents/{id}/edit', 'id', () => INCIDENT_EDITOR),
  ...formPages(
    '/incidents/{incident_id}/updates/new',
    '/incidents/{incident_id}/updates/{id}',
    'id',
    ({ ids }) => updateEditor(ids.incident_id ?? 0),
  ),
  removal('/incidents/{id}', 'incident', {
    remove: (request) => request.api.call(INCIDENT.remove, { id: idOf(request) }),
    after: () => '/incidents',
  }),
  removal('/incidents/{incident_id}/updates/{id}', 'update', {
    remove: (request) =>
      request.api.call(UPDATE.remove, { incident_id: idOf(request, 'incident_id'), id: idOf(request) }),
    after: ({ ids }) => `/incidents/${ids.incident_id}`,
  }),
];
