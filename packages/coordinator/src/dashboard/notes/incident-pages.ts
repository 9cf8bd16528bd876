import { LIMITS } from '@svc/shared/limits.ts';
import { idOf } from '../../api/endpoint.ts';
import type { Called } from '../../api/in-process.ts';
import {
  acknowledgeIncident,
  INCIDENT,
  type IncidentView,
  UPDATE,
  type UpdateView,
  unacknowledgeIncident,
} from '../../api/routes/incidents.ts';
import { MONITOR } from '../../api/routes/monitors.ts';
import { IMPACTS, type Impact, UPDATE_STATES, type UpdateState } from '../../verdict/incident-updates.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { durationText, instant } from '../../web/times.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest, PageApi } from '../dashboard-page.ts';
import type { Field } from '../forms/fields.ts';
import { cursorPaging, pageHead } from '../page-parts.ts';
import { type Editor, newForm } from '../resources/editor.ts';
import { editPages, formPages, newPages } from '../resources/form-pages.ts';
import { componentNames, monitorNames } from '../resources/reference-options.ts';
import { markLabel } from '../state-labels.ts';
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

/** Words for the stages of the work on an incident. */
const UPDATE_WORDS: Readonly<Record<UpdateState, string>> = {
  investigating: 'Investigating',
  identified: 'Identified',
  monitoring: 'Monitoring',
  resolved: 'Resolved',
};

const IMPACT_WORDS: Readonly<Record<Impact, string>> = {
  none: 'None: the components work',
  degraded: 'Degraded',
  partial_outage: 'Partial outage',
  down: 'Down',
};

const STATE = noteField(
  'state',
  'State',
  choiceOf(UPDATE_STATES.map((value) => ({ value, label: UPDATE_WORDS[value] }))),
  { isRequired: true },
);
const TEXT = noteField('text', 'What visitors are told', LINES, { isRequired: true });
const AT = noteField(
  'at',
  'When this was the case',
  { type: 'local', isUtc: true },
  { help: 'Not in the future. Empty: now.' },
);
const COMPONENTS = noteField('component_ids', 'Components that are affected', COMPONENT_IDS);
const IMPACT = noteField(
  'impact',
  'Impact on the components',
  choiceOf(IMPACTS.map((value) => ({ value, label: IMPACT_WORDS[value] }))),
  { isRequired: true },
);
const PAGES = noteField('page_ids', 'Status pages that show it', PAGE_IDS);

function titleField(help: string, isRequired: boolean): Field {
  return noteField('title', 'Title', LINE, { help, isRequired });
}

const NEW_INCIDENT_FORM = noteForm([
  titleField('What has happened, in one line.', true),
  IMPACT,
  STATE,
  TEXT,
  PAGES,
  COMPONENTS,
]);

const INCIDENT_FORM = noteForm([
  titleField(
    'What has happened, in one line. An incident of a monitor may have none: then it has the name of the monitor.',
    false,
  ),
  IMPACT,
  {
    ...PAGES,
    help: 'An incident of a monitor may name none: the pages that show the monitor show it.',
  },
]);

const UPDATE_FORM = noteForm([STATE, TEXT, AT, COMPONENTS]);

const LIST = { href: '/incidents', label: 'Incidents' } as const;

/** The name of an incident in the heading of its form: its title, or a name with its id. */
function nameOfIncident({ title, id }: { readonly title?: unknown; readonly id?: unknown }): string {
  return typeof title === 'string' ? title : `Incident ${id}`;
}

const NEW_INCIDENT_EDITOR: Editor = {
  form: NEW_INCIDENT_FORM,
  objects: INCIDENT,
  noun: 'incident',
  newTitle: 'Write an incident',
  list: LIST,
  nameOf: nameOfIncident,
  initial: { impact: 'none', state: 'investigating' },
  newPath: '/incidents/new',
  editPath: (id) => `/incidents/${id}/edit`,
  after: (id) => (id === null ? '/incidents' : `/incidents/${id}`),
  create: 'Publish',
};

const INCIDENT_EDITOR: Editor = {
  ...NEW_INCIDENT_EDITOR,
  form: INCIDENT_FORM,
  heading: 'Change the incident',
};

/**
 * The form of an incident's updates.
 *
 * @param initial values of a new update
 */
function updateEditor(
  incident: number | string,
  initial: Readonly<Record<string, unknown>> = { state: 'investigating' },
): Editor {
  const page = `/incidents/${incident}`;
  return {
    form: UPDATE_FORM,
    objects: UPDATE,
    above: { incident_id: incident },
    noun: 'update',
    newTitle: 'Publish an update',
    list: { href: page, label: 'Incident' },
    heading: 'Correct the update',
    nameOf: () => 'the update',
    initial,
    newPath: `${page}/updates/new`,
    editPath: (id) => `${page}/updates/${id}`,
    after: () => page,
    create: 'Publish',
    toForm: (update) => ({ ...update, at: localText(update.at, 'UTC') }),
    toBody: (filled, stored) => ({ ...filled, at: sentInstant(filled.at, stored) }),
  };
}

/**
 * Returns the instant that is sent to the API; null: the input is empty.
 * An unchanged input keeps the stored instant, to the millisecond.
 */
function sentInstant(at: unknown, stored: Parameters<NonNullable<Editor['toBody']>>[1]): unknown {
  if (stored !== null && at === stored.body.at) return stored.answered.at;
  // Browsers leave out seconds that are 0.
  return typeof at === 'string' ? at.replace(/T\d\d:\d\d$/, '$&:00').concat('Z') : null;
}

const LIMIT = 50;

/** Maximum length of an update's text in the list, characters. */
const LONGEST_TEXT = 120;

const incidentList: DashboardPage = {
  method: 'GET',
  path: '/incidents',
  scope: 'read',
  navigation: { label: 'Incidents', group: 'Watch' },
  async handle({ api, query, hasScope, now }) {
    const list = await api.read(INCIDENT.list, { limit: LIMIT, cursor: query.get('cursor') });
    const names = await monitorNames(
      api,
      list.data.map(({ monitor_id: id }) => id),
    );
    const add = hasScope('write')
      ? html`<a class="button button-main" href="/incidents/new">Write an incident</a>`
      : NO_HTML;
    return {
      title: 'Incidents',
      body: html`${pageHead('Incidents', { actions: add, lead: 'Incidents that monitors found, and what you told visitors about them.' })}
${list.data.length === 0 ? html`<div class="empty"><p>There was no incident yet. When a monitor fails, its incident is listed here, and you can publish updates about it.</p></div>` : incidentTable(list.data, names, now)}
${cursorPaging('/incidents', query, list.next_cursor)}`,
    };
  },
};

function incidentTable(
  incidents: readonly IncidentView[],
  names: ReadonlyMap<string, string>,
  now: number,
): Html {
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Incidents"><table>
<thead><tr><th scope="col">What</th><th scope="col">State</th><th scope="col">Began</th><th scope="col">Lasted</th><th scope="col">Last update</th></tr></thead>
<tbody>${incidents.map((incident) => {
    const { id, started_at: began, resolved_at: ended, latest_update: update } = incident;
    const lasted = (ended === null ? now : Date.parse(ended)) - Date.parse(began);
    return html`<tr><th scope="row" class="text-cell"><a href="/incidents/${id}">${incidentName(incident, names)}</a></th><td>${incidentState(incident)}${incident.acknowledgement !== null && incident.resolved_at === null ? html`<br>${markLabel('acknowledged')}` : NO_HTML}</td>
<td>${instant(Date.parse(began))}</td><td class="since">${durationText(Math.max(0, lasted))}</td>
<td class="soft text-cell">${update === null ? 'none' : update.text.slice(0, LONGEST_TEXT)}</td></tr>`;
  })}</tbody></table></div>`;
}

/**
 * The name of an incident: its title, the name of its monitor, or a name with an id.
 *
 * @param names names of monitors, by monitor id
 */
function incidentName(
  { title, monitor_id: monitor, id }: Pick<IncidentView, 'title' | 'monitor_id' | 'id'>,
  names: ReadonlyMap<string, string>,
): string {
  return title ?? names.get(monitor ?? '') ?? (monitor === null ? `Incident ${id}` : `Monitor ${monitor}`);
}

/** Shape, word and colour of an incident's state. */
function incidentState({ state, resolved_at: ended, impact }: IncidentView): Html {
  const word = UPDATE_WORDS[state];
  if (ended !== null) return stateLabel('operational', word);
  const mark: State = impact === 'none' ? 'degraded' : impact;
  return stateLabel(mark, word);
}

/** The page of an incident shows at most this number of its newest updates. */
const UPDATES = 100;

type Names = ReadonlyMap<string, string>;

/** The page of an incident, with its updates, the newest first, and a form for a new update. */
const readPage: DashboardPage = {
  method: 'GET',
  path: '/incidents/{id}',
  scope: 'read',
  async handle(request): Promise<DashboardAnswer> {
    const { api, hasScope } = request;
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
${acknowledgeForm(request, incident)}
<section class="stack" aria-labelledby="updates"><h2 id="updates">Updates</h2>${
        data.length === 0
          ? html`<p class="soft">No update was published yet.</p>`
          : html`<ol class="plain-list ledger">${data.map((update) => updateItem(request, update, components))}</ol>`
      }</section>
${hasScope('write') ? await publishForm(request, incident, data[0]) : NO_HTML}`,
    };
  },
};

function actionsOf({ hasScope, formToken }: DashboardRequest, { id, origin }: IncidentView): Html {
  if (!hasScope('write')) return NO_HTML;
  const removal =
    origin === 'operator'
      ? html`<form method="post" action="/incidents/${id}/remove">${formToken}<button class="button-danger">Remove</button></form>`
      : NO_HTML;
  return html`<a class="button" href="/incidents/${id}/edit">Edit</a>${removal}`;
}

function factsOf(incident: IncidentView, names: Names): Html {
  const { monitor_id: monitor, started_at: began, resolved_at: ended, page_ids: pages } = incident;
  const { acknowledgement } = incident;
  return html`<dl class="facts">${monitor === null ? NO_HTML : html`<dt>Monitor</dt><dd><a href="/monitors/${monitor}">${names.get(monitor) ?? `Monitor ${monitor}`}</a></dd>`}
<dt>Began</dt><dd>${instant(Date.parse(began))}</dd><dt>Ended</dt><dd>${ended === null ? 'not yet' : instant(Date.parse(ended))}</dd>
${acknowledgement === null ? NO_HTML : html`<dt>Acknowledged</dt><dd>${acknowledgedBy(acknowledgement)}</dd>`}
<dt>Shown on</dt><dd>${pages.length === 0 ? 'pages that show the monitor' : `${pages.length} ${pages.length === 1 ? 'status page' : 'status pages'}`}</dd></dl>`;
}

/** Who has acknowledged an incident, when, and a word about it. */
export function acknowledgedBy({ at, by, note }: NonNullable<IncidentView['acknowledgement']>): Html {
  return html`by ${by}, ${instant(Date.parse(at))}${note === null ? NO_HTML : html`: ${note}`}`;
}

/** The form that acknowledges an open incident of a monitor, or takes that back. */
export function acknowledgeForm(
  { hasScope, formToken }: Pick<DashboardRequest, 'hasScope' | 'formToken'>,
  { id, origin, resolved_at: ended, acknowledgement }: IncidentView,
): Html {
  if (!hasScope('write') || origin !== 'monitor' || ended !== null) return NO_HTML;
  if (acknowledgement !== null)
    return html`<form method="post" action="/incidents/${id}/unacknowledge">${formToken}<button>Take the acknowledgement back</button></form>`;
  return html`<form class="search" method="post" action="/incidents/${id}/acknowledge">${formToken}
<div class="field"><label for="note">A word about it (optional)</label><input id="note" name="note" maxlength="${LIMITS.noteTitle}"></div>
<button class="button-main">Acknowledge</button></form>`;
}

function updateItem({ hasScope, formToken }: DashboardRequest, update: UpdateView, components: Names): Html {
  const { id, incident_id: incident, state, at, text, component_ids: affected } = update;
  const path = `/incidents/${incident}/updates/${id}`;
  const actions = hasScope('write')
    ? html`<div class="row"><a class="button button-quiet" href="${path}">Edit<span class="unseen"> this update</span></a>
<form method="post" action="${path}/remove">${formToken}<button class="button-quiet">Remove<span class="unseen"> this update</span></button></form></div>`
    : NO_HTML;
  return html`<li><div class="row row-apart"><p><strong>${UPDATE_WORDS[state]}</strong> <span class="soft">${instant(Date.parse(at))}</span></p>${actions}</div><p class="lines">${text}</p>${
    affected.length === 0
      ? NO_HTML
      : html`<p class="soft small">Affects ${affected.map((each) => components.get(each) ?? `component ${each}, removed`).join(', ')}</p>`
  }</li>`;
}

/**
 * The form of a new update. It is filled in with the state
 * of the incident, and the components of the newest update.
 */
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

/**
 * Makes the page that removes an incident or one of its updates. A form sends its POST request to this page.
 */
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

/** Where the links of alerts lead: to the newest incident of a monitor. */
const newestOfMonitor: DashboardPage = {
  method: 'GET',
  path: '/monitors/{id}/incident',
  scope: 'read',
  async handle(request) {
    const id = idOf(request);
    await request.api.read(MONITOR.read, { id });
    const { data } = await request.api.read(INCIDENT.list, { monitor_id: id, limit: 1 });
    const [newest] = data;
    return { redirect: newest === undefined ? `/monitors/${id}` : `/incidents/${newest.id}` };
  },
};

/** Makes a page to which {@link acknowledgeForm} sends its POST request. */
function acknowledging(
  action: string,
  done: (incident: IncidentView) => string,
  call: (request: DashboardRequest) => Promise<Called<IncidentView>>,
): DashboardPage {
  return {
    method: 'POST',
    path: `/incidents/{id}/${action}`,
    scope: 'write',
    async handle(request) {
      const called = await call(request);
      const notice =
        called.problem === null ? done(called.body) : `Nothing was changed: ${called.problem.message}`;
      return { redirect: `/incidents/${idOf(request)}`, notice };
    },
  };
}

/** Names who acknowledged the incident first, perhaps a moment ago: of a second acknowledgement nothing is kept. */
function acknowledgedNotice({ acknowledgement }: IncidentView): string {
  return `The incident is acknowledged by ${acknowledgement?.by}.`;
}

/** All pages of incidents and their updates. */
export const incidentPages: readonly DashboardPage[] = [
  incidentList,
  readPage,
  newestOfMonitor,
  acknowledging('acknowledge', acknowledgedNotice, (request) => {
    const note = request.form.text('note').trim();
    return request.api.call(
      acknowledgeIncident,
      { id: idOf(request) },
      { body: { note: note === '' ? null : note } },
    );
  }),
  acknowledging(
    'unacknowledge',
    () => 'The acknowledgement is taken back.',
    (request) => request.api.call(unacknowledgeIncident, { id: idOf(request) }),
  ),
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
