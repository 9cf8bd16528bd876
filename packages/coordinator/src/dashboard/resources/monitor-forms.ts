import { kindOfType, MONITOR_TYPES, MONITORS } from '@svc/shared/resources/monitors.ts';
import { idOf } from '../../api/endpoint.ts';
import { MONITOR } from '../../api/routes/monitors.ts';
import { html } from '../../web/html.ts';
import { formOf } from '../forms/fields.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../page.ts';
import { type Editor, openExisting, openNew, sent } from './editor.ts';
import { kindChoice } from './kind-choice.ts';
import { monitorTrial } from './monitor-trial.ts';

type MonitorType = (typeof MONITOR_TYPES)[number];

/** The pages on which monitors are made and changed. */
export const monitorForms: readonly DashboardPage[] = [
  {
    method: 'GET',
    path: '/monitors/new',
    scope: 'write',
    async handle(request) {
      const type = typeIn(request.query.get('type'));
      return type === null ? chooseType() : openNew(request, editorOf(type));
    },
  },
  {
    method: 'POST',
    path: '/monitors/new',
    scope: 'write',
    async handle(request) {
      const type = typeIn(request.query.get('type'));
      return type === null ? chooseType() : sent(request, editorOf(type), null);
    },
  },
  {
    method: 'GET',
    path: '/monitors/{id}/edit',
    scope: 'write',
    handle: async (request) => openExisting(request, await editorFor(request), idOf(request)),
  },
  {
    method: 'POST',
    path: '/monitors/{id}/edit',
    scope: 'write',
    async handle(request) {
      // The type is in the address, so that a draft survives the removal of its monitor.
      const type = typeIn(request.query.get('type'));
      const editor = type === null ? await editorFor(request) : editorOf(type);
      return sent(request, editor, idOf(request));
    },
  },
];

function typeIn(text: string | null): MonitorType | null {
  return MONITOR_TYPES.find((type) => type === text) ?? null;
}

async function editorFor(request: DashboardRequest): Promise<Editor> {
  const { type } = await request.api.read(MONITOR.read, { id: idOf(request) });
  return editorOf(type);
}

const FORMS = new Map(MONITOR_TYPES.map((type) => [type, formOf(MONITORS[type].definition)]));

function editorOf(type: MonitorType): Editor {
  const { definition } = MONITORS[type];
  const form = FORMS.get(type) ?? formOf(definition);
  return {
    form,
    objects: MONITOR,
    noun: definition.noun,
    newTitle: `New ${definition.title}`,
    list: { href: '/', label: 'Monitors' },
    nameOf: ({ name }) => String(name),
    introduction: html`<p class="soft">${definition.description}</p>`,
    // Who fills in a form wants checks. The default of the definition is for declarations.
    initial: { active: true, periodicity: '1m' },
    newPath: `/monitors/new?type=${type}`,
    editPath: (id) => `/monitors/${id}/edit?type=${type}`,
    after: (id) => (id === null ? '/' : `/monitors/${id}`),
    trial: monitorTrial,
  };
}

function chooseType(): DashboardAnswer {
  return kindChoice({
    title: 'New monitor',
    question: 'What is to be checked?',
    kinds: MONITOR_TYPES.map((type) => ({
      href: `/monitors/new?type=${type}`,
      label: MONITORS[type].definition.title,
      help: MONITORS[type].definition.description,
      name: kindOfType(type),
    })),
    cancel: '/',
  });
}
