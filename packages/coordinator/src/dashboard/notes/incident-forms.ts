import { INCIDENT, UPDATE } from '../../api/routes/incidents.ts';
import { IMPACTS, type Impact, UPDATE_STATES, type UpdateState } from '../../domain/incident-updates.ts';
import type { Field } from '../forms/fields.ts';
import type { Editor } from '../resources/editor.ts';
import { localText } from './local-text.ts';
import { COMPONENT_IDS, choiceOf, LINE, LINES, noteField, noteForm, PAGE_IDS } from './note-fields.ts';

/** How far people are, in words. */
export const UPDATE_WORDS: Readonly<Record<UpdateState, string>> = {
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
  'When it was so, in UTC',
  { type: 'local' },
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
    'What has happened, in one line. An incident of a monitor may have none: it has the name of the monitor.',
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

/** What the form of an incident calls it. */
function nameOfIncident({ title, id }: { readonly title?: unknown; readonly id?: unknown }): string {
  return typeof title === 'string' ? title : `Incident ${id}`;
}

export const NEW_INCIDENT_EDITOR: Editor = {
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

export const INCIDENT_EDITOR: Editor = {
  ...NEW_INCIDENT_EDITOR,
  form: INCIDENT_FORM,
  heading: 'Change the incident',
};

/** The form of the updates of an incident. @param initial what a new update begins with */
export function updateEditor(
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
    shown: (update) => ({ ...update, at: localText(update.at, 'UTC') }),
    sent: (filled, stored) => ({ ...filled, at: sentInstant(filled.at, stored) }),
  };
}

/** An instant that was left as it was shown stays the same, to the millisecond. */
function sentInstant(at: unknown, stored: Parameters<NonNullable<Editor['sent']>>[1]): unknown {
  if (stored !== null && at === stored.body.at) return stored.answered.at;
  // Browsers leave out seconds that are 0.
  return typeof at === 'string' ? at.replace(/T\d\d:\d\d$/, '$&:00').concat('Z') : null;
}
