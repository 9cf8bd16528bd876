import { isId } from '@svc/shared/ids.ts';
import type { MONITOR_TYPES } from '@svc/shared/resources/monitors.ts';
import { idOf } from '../../api/endpoint.ts';
import { acknowledgeIncident, INCIDENT } from '../../api/routes/incidents.ts';
import { MONITOR, monitorUses } from '../../api/routes/monitors.ts';
import { muteMonitor, unmuteMonitor } from '../../api/routes/mutes.ts';
import { type Html, html } from '../../web/html.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { entriesOf } from '../forms/to-entries.ts';
import { resourceFrom } from '../forms/to-resource.ts';
import { counted, pageHead, pathWith } from '../page-parts.ts';
import { monitorFormOf } from '../resources/monitor-forms.ts';
import { choiceIn, componentsChoice } from '../resources/removal.ts';
import { linkChannel } from './alerted-channels.ts';

/*
 * Actions on monitors without a form of attributes: one monitor is paused, resumed, muted or unmuted, and the
 * monitors that are ticked in the list are paused, resumed, acknowledged, muted, unmuted, copied or removed.
 */

/** Name of the check boxes in the list, and of the hidden fields with the chosen monitors. */
export const SELECTED = 'monitor';
/**
 * Path to which the forms are sent. The query of the list is appended,
 * so that the answer leads back to the same page of the list.
 */
export const SELECTED_PATH = '/monitors/selected';
/** Id of the form around the list. The buttons stand outside this form, and refer to it by the id. */
export const SELECTION_FORM = 'selection';

/** Maximum number of monitors of one action. A page of the list has 50. */
const MOST_SELECTED = 100;

/** The buttons for the monitors that are ticked in the list. */
export function selectionButtons(): Html {
  return html`<div class="row selection"><span class="soft small">With the ticked monitors:</span>
<button form="${SELECTION_FORM}" name="action" value="pause">Pause</button>
<button form="${SELECTION_FORM}" name="action" value="resume">Resume</button>
<button form="${SELECTION_FORM}" name="action" value="acknowledge">Acknowledge</button>
${muteControl(SELECTION_FORM)}<button form="${SELECTION_FORM}" name="action" value="unmute">Unmute</button>
<button form="${SELECTION_FORM}" name="action" value="copy">Copy</button>
<button form="${SELECTION_FORM}" name="action" value="remove" class="button-danger">Remove</button></div>`;
}

/** The lengths of a mute that forms offer, ms, by the value of the option. */
const MUTES: Readonly<Record<string, { readonly label: string; readonly ms: number }>> = {
  '30m': { label: '30 minutes', ms: 30 * 60_000 },
  '1h': { label: '1 hour', ms: 3_600_000 },
  '4h': { label: '4 hours', ms: 4 * 3_600_000 },
  '1d': { label: '1 day', ms: 86_400_000 },
  '7d': { label: '7 days', ms: 7 * 86_400_000 },
};

/**
 * Makes the button that mutes, and the field for the length of the mute.
 *
 * @param form id of the form to which both belong
 */
export function muteControl(form: string): Html {
  return html`<span class="row mute"><button form="${form}" name="action" value="mute">Mute</button>
<select form="${form}" name="mute_for" aria-label="Mute for">${Object.entries(MUTES).map(
    ([value, { label }]) => html`<option value="${value}">for ${label}</option>`,
  )}</select></span>`;
}

export const monitorActions: readonly DashboardPage[] = [
  activation('pause', false),
  activation('resume', true),
  {
    method: 'POST',
    path: '/monitors/{id}/mute',
    scope: 'write',
    async handle(request) {
      const id = idOf(request);
      const problem = await mute(request, id);
      const notice = problem === null ? 'The monitor is muted.' : `Nothing was changed: ${problem}`;
      return { redirect: `/monitors/${id}`, notice };
    },
  },
  {
    method: 'POST',
    path: '/monitors/{id}/unmute',
    scope: 'write',
    async handle(request) {
      const id = idOf(request);
      const problem = await unmute(request, id);
      const notice =
        problem === null ? 'The monitor is not muted any more.' : `Nothing was changed: ${problem}`;
      return { redirect: `/monitors/${id}`, notice };
    },
  },
  { method: 'POST', path: SELECTED_PATH, scope: 'write', handle: handleSelection },
];

function activation(action: 'pause' | 'resume', active: boolean): DashboardPage {
  return {
    method: 'POST',
    path: `/monitors/{id}/${action}`,
    scope: 'write',
    async handle(request) {
      const id = idOf(request);
      const problem = await setActive(request, String(id), active);
      const done = active
        ? 'The monitor is checked again.'
        : 'The monitor is paused: it is not checked, and alerts nobody.';
      return {
        redirect: `/monitors/${id}`,
        notice: problem === null ? done : `Nothing was changed: ${problem}`,
      };
    },
  };
}

async function handleSelection(request: DashboardRequest): Promise<DashboardAnswer> {
  const { form, query } = request;
  const ids = [...new Set(form.all(SELECTED))].filter(isId).slice(0, MOST_SELECTED);
  const redirect = pathWith('/', query, {});
  if (ids.length === 0) return { redirect, notice: 'No monitor was ticked.' };
  switch (form.text('action')) {
    case 'pause':
      return { redirect, notice: await doEach(ids, 'paused', (id) => setActive(request, id, false)) };
    case 'resume':
      return { redirect, notice: await doEach(ids, 'resumed', (id) => setActive(request, id, true)) };
    case 'acknowledge': {
      const notice = await doEach(ids, 'acknowledged', (id) => acknowledge(request, Number(id)));
      return { redirect, notice };
    }
    case 'mute':
      return { redirect, notice: await doEach(ids, 'muted', (id) => mute(request, Number(id))) };
    case 'unmute':
      return { redirect, notice: await doEach(ids, 'unmuted', (id) => unmute(request, Number(id))) };
    case 'copy':
      return { redirect, notice: await doEach(ids, 'copied; a copy is paused', (id) => copy(request, id)) };
    case 'remove':
      return askRemoval(request, ids, redirect);
    case 'remove-now':
      return { redirect, notice: await doEach(ids, 'removed', (id) => remove(request, id)) };
    default:
      return { redirect, notice: 'Nothing was done: the action is unknown.' };
  }
}

/**
 * Calls `act` for each monitor, one after the other. If
 * one monitor is refused, the next monitors are still tried.
 *
 * @param done what was done, for the notice: `paused`
 * @param act returns the reason why the monitor was not changed; null: it was changed
 * @returns what was done and what was not, for the notice
 */
async function doEach(
  ids: readonly string[],
  done: string,
  act: (id: string) => Promise<string | null>,
): Promise<string> {
  const refused: string[] = [];
  for (const id of ids) {
    const problem = await act(id);
    if (problem !== null) refused.push(problem);
  }
  const changed = `${counted(ids.length - refused.length, 'monitor')} ${done}.`;
  const [first] = refused;
  return first === undefined ? changed : `${changed} ${counted(refused.length, 'monitor')} not: ${first}`;
}

/**
 * Switches a monitor on or off. Its other attributes stay as they are stored.
 *
 * @returns the reason why the monitor was not switched; null: it is in the wanted state now
 */
async function setActive({ api }: DashboardRequest, id: string, active: boolean): Promise<string | null> {
  const read = await api.call(MONITOR.read, { id });
  if (read.problem !== null) return read.problem.message;
  const { body, headers } = read;
  if (body.active === active) return null;
  const form = monitorFormOf(body.type as (typeof MONITOR_TYPES)[number]);
  const stored = { ...resourceFrom(form, entriesOf(form, body, 'kept'), body), active };
  const replaced = await api.call(
    MONITOR.replace,
    { id },
    { body: stored, headers: { 'if-match': headers.etag ?? '' } },
  );
  return replaced.problem?.message ?? null;
}

/**
 * Creates a paused copy of a monitor that alerts the same channels.
 * Returns why it was not created, or is not linked; null: it is.
 */
async function copy({ api }: DashboardRequest, id: string): Promise<string | null> {
  const read = await api.call(MONITOR.read, { id });
  if (read.problem !== null) return read.problem.message;
  const copied = { ...read.body, name: `${read.body.name} (copy)`, active: false };
  const form = monitorFormOf(copied.type as (typeof MONITOR_TYPES)[number]);
  const body = resourceFrom(form, entriesOf(form, copied, 'shown'), copied);
  const created = await api.call(MONITOR.create, {}, { body });
  if (created.problem !== null) return created.problem.message;
  const { notifications } = await api.read(monitorUses, { id });
  for (const channel of notifications) {
    const problem = await linkChannel(api, channel.id, created.body.id, true);
    if (problem !== null) return problem;
  }
  return null;
}

/**
 * Mutes a monitor for the length that the form contains.
 * Returns why the monitor was not muted; null: it was muted.
 */
async function mute({ api, form, now }: DashboardRequest, id: number): Promise<string | null> {
  const length = MUTES[form.text('mute_for')];
  if (length === undefined) return 'Choose for how long.';
  const body = { until: new Date(now + length.ms).toISOString() };
  return (await api.call(muteMonitor, { id }, { body })).problem?.message ?? null;
}

/** Acknowledges the open incident of a monitor. Returns why it was not acknowledged; null: it was. */
async function acknowledge({ api }: DashboardRequest, id: number): Promise<string | null> {
  const read = await api.call(INCIDENT.list, { monitor_id: id, state: 'open', limit: 1 });
  if (read.problem !== null) return read.problem.message;
  const [open] = read.body.data;
  if (open === undefined) return `monitor ${id} has no open incident`;
  const done = await api.call(acknowledgeIncident, { id: open.id }, { body: {} });
  return done.problem?.message ?? null;
}

async function unmute({ api }: DashboardRequest, id: number): Promise<string | null> {
  return (await api.call(unmuteMonitor, { id })).problem?.message ?? null;
}

async function remove({ api, form }: DashboardRequest, id: string): Promise<string | null> {
  const { problem } = await api.call(MONITOR.remove, { id, ...choiceIn(form.text('components')) });
  return problem === null || problem.status === 404 ? null : problem.message;
}

/** @param list path of the list from which the visitor came */
async function askRemoval(
  { api, formToken, query }: DashboardRequest,
  ids: readonly string[],
  list: string,
): Promise<DashboardAnswer> {
  const names: Html[] = [];
  for (const id of ids) {
    const read = await api.call(MONITOR.read, { id });
    if (read.problem === null)
      names.push(html`<li>${read.body.name}<input type="hidden" name="${SELECTED}" value="${id}"></li>`);
  }
  if (names.length === 0) return { redirect: list, notice: 'The ticked monitors were removed already.' };
  const title = `Remove ${counted(names.length, 'monitor')}`;
  return {
    title,
    styles: [FORM_STYLE],
    body: html`${pageHead(title, { above: [{ href: list, label: 'Monitors' }] })}
<form class="form" method="post" action="${pathWith(SELECTED_PATH, query, {})}">${formToken}
<p>Their results, their histories and their incidents are removed with them. Waiting alerts are still sent.</p>
<ul>${names}</ul>
${componentsChoice('What happens to components of status pages that show them?')}
<div class="row form-actions"><button class="button-danger" name="action" value="remove-now">${title}</button>
<a class="button button-quiet" href="${list}">Keep them</a></div>
</form>`,
  };
}
