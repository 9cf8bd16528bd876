import { kindOfType, MONITOR_TYPES, MONITORS } from '@svc/shared/resources/monitors.ts';
import type { RegionView } from '../../api/answers.ts';
import { type AnswerOf, idOf } from '../../api/endpoint.ts';
import { MONITOR, monitorUses } from '../../api/routes/monitors.ts';
import { listRegions } from '../../api/routes/regions.ts';
import { dryRun } from '../../api/routes/results.ts';
import { stateLabel } from '../../web/design/states.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { MONITOR_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { formOf, type ResourceForm } from '../forms/fields.ts';
import type { LikelyOptions } from '../forms/render-form.ts';
import { alertedChoice, linkChosen } from '../monitor/alerted-channels.ts';
import { PHASE_NAMES, PHASE_WORDS } from '../monitor/charts.ts';
import type { MonitorView } from '../monitor/monitor-head.ts';
import { findingText } from '../monitor/results-list.ts';
import { absenceText } from '../regions/regions-page.ts';
import { outcomeLabel } from '../state-labels.ts';
import { type Editor, handleForm, openNewForm, openStoredForm, type Trial } from './editor.ts';
import { kindChoice, newPagesByKind } from './form-pages.ts';
import { componentsChoice, type Removal, removalPages } from './removal.ts';

type Answer = AnswerOf<typeof dryRun>['data'][number];
type Found = NonNullable<Answer['result']>;
type Shown = Pick<DashboardRequest, 'now' | 'regionText'>;

/** Runs the draft of a monitor in its regions, and shows what each region found. Nothing is saved. */
const monitorTrial: Trial = {
  button: html`<button name="intent" value="try">Run it now</button>`,
  styles: [MONITOR_STYLE],
  async run(request, body) {
    const { api } = request;
    const tried = await api.call(dryRun, {}, { body });
    if (tried.problem !== null) return tried.problem;
    const answers = tried.body.data;
    const isSilent = answers.length === 0 || answers.some(({ result }) => result === null);
    const regions = isSilent ? (await api.read(listRegions, {})).data : [];
    return { shown: trialPanel(answers, regions, request) };
  },
};

/**
 * Renders what each region found: the outcome, the phases, and each assertion.
 *
 * @param regions the current state of the regions, needed only if a region did not answer
 */
function trialPanel(answers: readonly Answer[], regions: readonly RegionView[], request: Shown): Html {
  return html`<section class="stack trial" aria-labelledby="trial" role="status">
<h2 id="trial">What the regions found</h2>
<p class="soft">One attempt in each region. It was not recorded, no alert was sent, and nothing was saved.</p>
${
  answers.length === 0
    ? html`<p class="notice notice-warning">${noAgentText(regions, request.now)}, so nothing was checked. <a href="/regions">Regions</a></p>`
    : html`<ol class="plain-list log">${answers.map((answer) => answerItem(answer, regions, request))}</ol>`
}
</section>`;
}

/**
 * Says that no region has an agent, and since when. The time is the latest instant at
 * which a region lost its last agent. Regions that never had an agent do not count.
 */
function noAgentText(regions: readonly RegionView[], now: number): Html {
  const begun = regions.flatMap(({ absent_since: since, last_seen_at: seen }) =>
    since === null || seen === null ? [] : [since],
  );
  if (begun.length === 0) return html`No region has an agent`;
  return html`No region has had an agent${absenceText({ absent_since: Math.max(...begun) }, now)}`;
}

/** Says why a region did not answer, as far as svc knows. */
function silenceOf(view: RegionView | undefined, now: number): Html {
  if (view === undefined) return html`did not answer in time`;
  if (view.absent_since !== null && view.last_seen_at !== null) {
    return html`did not answer: no agent has taken jobs there${absenceText(view, now)}`;
  }
  if (view.agents.length === 0) return html`did not answer: it has never had an agent`;
  return html`did not answer in time: its agents are busy, or have just gone`;
}

function answerItem(
  { region, result }: Answer,
  regions: readonly RegionView[],
  { now, regionText }: Shown,
): Html {
  if (result === null) {
    const silence = silenceOf(
      regions.find((each) => each.region === region),
      now,
    );
    return html`<li><p class="log-line"><span class="log-state">${stateLabel('unknown', 'No answer')}</span><span class="log-place">${regionText(region)}</span><span class="log-text">${silence}</span></p></li>`;
  }
  return html`<li><details open>
<summary><span class="log-line"><span class="log-state">${outcomeLabel(result.outcome)}</span><span class="log-place">${regionText(region)}</span><span class="log-figure">${latencyText(result.latency)}</span><span class="log-text">${findingText(result)}</span></span></summary>
<div class="log-more stack">${phasesLine(result)}${assertionsList(result)}</div>
</details></li>`;
}

function phasesLine({ phases }: Found): Html {
  const present = phases === null ? [] : PHASE_NAMES.filter((phase) => phases[phase] !== undefined);
  if (phases === null || present.length === 0) return NO_HTML;
  return html`<dl class="facts small">${present.map((phase) => html`<dt>${PHASE_WORDS[phase]}</dt><dd>${latencyText(phases[phase] ?? null)}</dd>`)}</dl>`;
}

function assertionsList({ assertions, outcome }: Found): Html {
  if (assertions === null) {
    return outcome === 'failed' ? html`<p class="soft small">Assertions were not reached.</p>` : NO_HTML;
  }
  if (assertions.length === 0) return NO_HTML;
  return html`<ul class="plain-list small">${assertions.map(
    ({ assertion, failure }) =>
      html`<li>${outcomeLabel(failure === null ? 'passed' : 'failed')} ${assertion}${failure === null ? NO_HTML : html` <span class="soft">${failure}</span>`}</li>`,
  )}</ul>`;
}

/** The pages that remove a monitor. */
export const monitorRemoval: readonly DashboardPage[] = removalPages('/monitors/{id}/delete', removalOf);

function removalOf(request: DashboardRequest): Removal<MonitorView> {
  const id = idOf(request);
  return {
    objects: MONITOR,
    ids: { id },
    kindOf: ({ type }) => `svc_${type}_monitor`,
    noun: 'monitor',
    path: `/monitors/${id}/delete`,
    after: '/',
    cancel: `/monitors/${id}`,
    nameOf: ({ name }) => name,
    consequences: ({ api }) => consequencesFor(api, id),
  };
}

type Uses = AnswerOf<typeof monitorUses>;

async function consequencesFor(api: DashboardRequest['api'], id: number): Promise<Html> {
  const uses = await api.read(monitorUses, { id });
  return html`<p>Its results, its history and its incidents are removed with it. Waiting alerts are still sent.</p>
${channels(uses)}
${components(uses)}`;
}

function channels({ notifications, notification_count: count }: Uses): Html {
  if (count === 0) return NO_HTML;
  const more = count - notifications.length;
  return html`<section><h2>Channels that it leaves</h2>
<ul>${notifications.map(
    ({ id, name, provider_type: kind }) =>
      html`<li><a href="/channels/${id}">${name ?? `Channel ${id}`}</a> <span class="soft">${kind}</span></li>`,
  )}${more > 0 ? html`<li>and ${more} more</li>` : NO_HTML}</ul></section>`;
}

function components({ components: shown, component_count: count }: Uses): Html {
  if (count === 0) return NO_HTML;
  const more = count - shown.length;
  return html`<section><h2>Status pages that show it</h2>
<ul>${shown.map(
    ({ id, page_id: page, page_slug: slug }) =>
      html`<li><a href="/pages/${page}">${slug}</a> <span class="soft">component ${id}</span></li>`,
  )}${more > 0 ? html`<li>and ${more} more</li>` : NO_HTML}</ul></section>
${componentsChoice('What happens to these components?')}`;
}

type MonitorType = (typeof MONITOR_TYPES)[number];

/** The forms in which monitors are created and changed. */
export const monitorForms: readonly DashboardPage[] = [
  ...newPagesByKind('/monitors/new', editorInQuery, chooseType),
  { method: 'GET', path: '/monitors/{id}/copy', scope: 'write', handle: openCopy },
  {
    method: 'GET',
    path: '/monitors/{id}/edit',
    scope: 'write',
    handle: async (request) => openStoredForm(request, await editorFor(request), idOf(request)),
  },
  {
    method: 'POST',
    path: '/monitors/{id}/edit',
    scope: 'write',
    async handle(request) {
      // The URL contains the type of the monitor. So the form
      // can keep its draft even if somebody removed the monitor.
      const editor = editorInQuery(request) ?? (await editorFor(request));
      return handleForm(request, editor, idOf(request));
    },
  },
];

function typeIn(text: string | null): MonitorType | null {
  return MONITOR_TYPES.find((type) => type === text) ?? null;
}

/** The form of the type that the URL names; null: the URL names no type. */
function editorInQuery({ query }: DashboardRequest): Editor | null {
  const type = typeIn(query.get('type'));
  return type === null ? null : editorOf(type);
}

/** The form of a new monitor, filled in like the monitor whose id the URL names. */
async function openCopy(request: DashboardRequest): Promise<DashboardAnswer> {
  const copied = await request.api.read(MONITOR.read, { id: idOf(request) });
  const type = typeIn(copied.type) ?? 'http';
  return openNewForm(request, editorOf(type, { ...copied, name: `${copied.name} (copy)` }));
}

async function editorFor(request: DashboardRequest): Promise<Editor> {
  const { type } = await request.api.read(MONITOR.read, { id: idOf(request) });
  return editorOf(type);
}

const FORMS = new Map(MONITOR_TYPES.map((type) => [type, formOf(MONITORS[type].definition)]));

/** The form of a type of monitor. */
export function monitorFormOf(type: MonitorType): ResourceForm {
  return FORMS.get(type) ?? formOf(MONITORS[type].definition);
}

/** @param copied attributes of the monitor that the new monitor is a copy of; left out: it is no copy */
function editorOf(type: MonitorType, copied: Readonly<Record<string, unknown>> = {}): Editor {
  const { definition } = MONITORS[type];
  const form = monitorFormOf(type);
  return {
    form,
    objects: MONITOR,
    noun: definition.noun,
    newTitle: `New ${definition.title}`,
    list: { href: '/', label: 'Monitors' },
    nameOf: ({ name }) => String(name),
    introduction: html`<p class="soft">${definition.description}</p>`,
    // Unlike in a declaration, a new monitor is active by default.
    initial: { active: true, periodicity: '1m', ...copied },
    newPath: `/monitors/new?type=${type}`,
    editPath: (id) => `/monitors/${id}/edit?type=${type}`,
    after: (id) => (id === null ? '/' : `/monitors/${id}`),
    likelyOptions: regionsWithAgents,
    besides: (request, id) => alertedChoice(request, id, typeof copied.id === 'string' ? copied.id : null),
    saved: linkChosen,
    trial: monitorTrial,
  };
}

/** Offers the regions with a live agent first. If no region has one, all regions are offered alike. */
async function regionsWithAgents({
  api,
  regionText,
}: Pick<DashboardRequest, 'api' | 'regionText'>): Promise<ReadonlyMap<string, LikelyOptions>> {
  const { data } = await api.read(listRegions, {});
  const live = data.filter(({ agents }) => agents.length > 0);
  const values = new Set((live.length === 0 ? data : live).map(({ region }) => region));
  const options = data.map(({ region }) => ({ value: region, label: regionText(region) }));
  return new Map([['regions', { options, values, others: 'Regions without an agent' }]]);
}

function chooseType(): DashboardAnswer {
  return kindChoice({
    title: 'New monitor',
    question: 'What should be checked?',
    kinds: MONITOR_TYPES.map((type) => ({
      href: `/monitors/new?type=${type}`,
      label: MONITORS[type].definition.title,
      help: MONITORS[type].definition.description,
      name: kindOfType(type),
    })),
    cancel: '/',
  });
}
