import { LIMITS } from '@svc/shared/limits.ts';
import { statusPage } from '@svc/shared/resources/status-page.ts';
import { type AnswerOf, type EndpointAnswering, idOf } from '../../api/endpoint.ts';
import type { Called } from '../../api/in-process.ts';
import { COMPONENT, COMPONENT_GROUP } from '../../api/routes/components.ts';
import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardPage, DashboardRequest, PageApi } from '../dashboard-page.ts';
import { VERSION_FIELD } from '../forms/entries.ts';
import { formOf } from '../forms/fields.ts';
import { pageHead, warningNotices } from '../page-parts.ts';
import { declaredIn, declaredNotice, facts } from '../resources/declared.ts';
import { monitorNames } from '../resources/reference-options.ts';
import { arrangedItems, type Item } from './arrangement.ts';

/* A status page, its components and groups in the API's answers. */
export type StatusPageView = AnswerOf<typeof STATUS_PAGE.read>;
export type ComponentView = AnswerOf<typeof COMPONENT.read>;
export type GroupView = AnswerOf<typeof COMPONENT_GROUP.read>;

export const PAGE_FORM = formOf(statusPage);

/** Shape and word that say whether the page is published. */
export function servedState({ published }: Pick<StatusPageView, 'published'>): Html {
  return published ? stateLabel('operational', 'Served') : stateLabel('unknown', 'Not served');
}

/**
 * Maximum number of components that are read, and maximum number
 * of groups. A page shows its visitors at most as many components.
 */
const MOST_READ = 500;

/**
 * Reads the components and groups of a page.
 *
 * @throws Problem that the API answered
 */
export async function contentsOf(api: PageApi, pageId: number) {
  return {
    components: await componentsOf(api, pageId),
    groups: await everyMember(api, COMPONENT_GROUP.list, pageId),
  };
}

export function componentsOf(api: PageApi, pageId: number): Promise<readonly ComponentView[]> {
  return everyMember(api, COMPONENT.list, pageId);
}

async function everyMember<T>(
  api: PageApi,
  list: EndpointAnswering<{ readonly data: readonly T[]; readonly total: number }>,
  pageId: number,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let offset = 0; offset < MOST_READ; offset += LIMITS.listMaximum) {
    const { data, total } = await api.read(list, { page_id: pageId, limit: LIMITS.listMaximum, offset });
    all.push(...data);
    if (all.length >= total) break;
  }
  return all;
}

/**
 * The editor of a status page. It shows the appearance, the
 * components and groups in their order, and the settings.
 */
export const statusPagePage: DashboardPage = {
  method: 'GET',
  path: '/pages/{id}',
  scope: 'read',
  async handle(request) {
    const id = idOf(request);
    const called = await request.api.call(STATUS_PAGE.read, { id });
    if (called.problem !== null) throw called.problem;
    const { headers, body: page } = called;
    const { components, groups } = await contentsOf(request.api, id);
    const names = await monitorNames(
      request.api,
      components.map(({ monitor_id: id }) => id),
    );
    const shown = { page, names, formToken: request.hasScope('write') ? request.formToken : null };
    return {
      title: page.title,
      styles: [FORM_STYLE],
      body: html`${editorHead(request, page)}
${notices(headers, page)}
${appearance(request, headers, page)}
${contents(shown, arrangedItems(components, groups))}
<section class="stack" aria-labelledby="settings"><h2 id="settings">Settings</h2>
${facts(PAGE_FORM, page)}</section>`,
    };
  },
};

function editorHead({ hasScope }: DashboardRequest, page: StatusPageView): Html {
  const { id, slug, published } = page;
  const view = published ? html`<a class="button" href="/status/${slug}">Open the page</a>` : NO_HTML;
  const edit = html`<a class="button" href="/pages/${id}/edit">Edit settings</a>
<a class="button button-danger" href="/pages/${id}/delete">Remove</a>`;
  return pageHead(page.title, {
    above: [{ href: '/pages', label: 'Status pages' }],
    actions: html`<a class="button" href="/pages/${id}/preview">Preview</a>${view}${hasScope('write') ? edit : NO_HTML}`,
    lead: html`${servedState(page)} <span>/status/${slug}</span>`,
  });
}

function notices(headers: Called['headers'], { warnings }: StatusPageView): Html {
  const declared = declaredIn(headers);
  return html`${declared === null ? NO_HTML : declaredNotice('status page', 'svc_status_page', declared)}${warningNotices(warnings)}`;
}

const THEMES = [
  ['system', "As the visitor's system prefers"],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

const LATENCIES = [
  ['none', 'Do not show them'],
  ['24h', 'Of the last 24 hours'],
  ['7d', 'Of the last 7 days'],
] as const;

function appearance(
  { hasScope, formToken }: DashboardRequest,
  { etag = '' }: Called['headers'],
  page: StatusPageView,
): Html {
  if (!hasScope('write')) return NO_HTML;
  const { id, published, theme, latency } = page;
  return html`<section class="stack" aria-labelledby="appearance"><h2 id="appearance">Appearance</h2>
<form class="form" method="post" action="/pages/${id}/appearance">${formToken}
<input type="hidden" name="${VERSION_FIELD}" value="${etag}">
<label class="choice"><input type="checkbox" name="published" value="true"${published ? html` checked` : NO_HTML}> Publish the page</label>
${choices('Colours', 'theme', THEMES, theme)}
${choices('Response times', 'latency', LATENCIES, latency)}
<div class="row"><button>Save the appearance</button></div></form></section>`;
}

function choices(
  legend: string,
  name: string,
  values: readonly (readonly [string, string])[],
  chosen: string,
): Html {
  return html`<fieldset class="set"><legend>${legend}</legend>${values.map(
    ([value, label]) =>
      html`<label class="choice"><input type="radio" name="${name}" value="${value}"${value === chosen ? html` checked` : NO_HTML}> ${label}</label>`,
  )}</fieldset>`;
}

type Shown = {
  readonly page: StatusPageView;
  /** Names of monitors by id. */
  readonly names: ReadonlyMap<string, string>;
  /** The hidden form token; null: the visitor may not change anything. */
  readonly formToken: Html | null;
};

type PageItem = Item<ComponentView, GroupView>;

function contents(shown: Shown, items: readonly PageItem[]): Html {
  const { page, formToken } = shown;
  const add =
    formToken === null
      ? NO_HTML
      : html`<div class="row"><a class="button" href="/pages/${page.id}/components/new">Add a component</a>
<a class="button" href="/pages/${page.id}/components/several">Add several</a>
<a class="button" href="/pages/${page.id}/groups/new">Add a group</a></div>`;
  const list =
    items.length === 0
      ? html`<p class="soft">The page shows nothing yet. A component shows a monitor, or a text of your own.</p>`
      : html`<ol class="plain-list arrangement">${items.map((item, index) => itemHtml(shown, item, endsOf(index, items.length)))}</ol>`;
  return html`<section class="stack" aria-labelledby="components"><div class="row row-apart"><h2 id="components">Components</h2>${add}</div>
${list}</section>`;
}

/** Whether an item is first or last in its list, so that it cannot be moved further. */
type Ends = { readonly isFirst: boolean; readonly isLast: boolean };

function endsOf(index: number, length: number): Ends {
  return { isFirst: index === 0, isLast: index === length - 1 };
}

function itemHtml(shown: Shown, item: PageItem, ends: Ends): Html {
  if (item.what === 'component') return html`<li>${componentLine(shown, item.component, ends)}</li>`;
  const { group, components } = item;
  const name = { what: 'group', id: group.id, name: group.name } as const;
  const link =
    shown.formToken === null
      ? group.name
      : html`<a href="/pages/${shown.page.id}/groups/${group.id}">${group.name}</a>`;
  const ofGroup =
    components.length === 0
      ? html`<p class="hint">Pages do not show a group without components.</p>`
      : html`<ol class="plain-list arrangement">${components.map(
          (component, index) =>
            html`<li>${componentLine(shown, component, endsOf(index, components.length))}</li>`,
        )}</ol>`;
  return html`<li><div class="row row-apart"><h3>${link}</h3>${components.length === 0 ? removeOnly(shown, name) : controls(shown, name, ends)}</div>
${ofGroup}</li>`;
}

function componentLine(shown: Shown, component: ComponentView, ends: Ends): Html {
  const { page, names, formToken } = shown;
  const { id, type, monitor_id: monitorId, warnings } = component;
  const monitor = monitorId === null ? null : (names.get(monitorId) ?? null);
  const name = component.name ?? monitor ?? 'nothing';
  const link =
    formToken === null ? html`${name}` : html`<a href="/pages/${page.id}/components/${id}">${name}</a>`;
  const of = type === 'static' ? 'text' : monitor === null ? 'no monitor' : `monitor ${monitor}`;
  return html`<div class="row row-apart"><span>${link} <span class="soft small">${of}</span></span>${controls(shown, { what: 'component', id, name }, ends)}</div>
${warnings.map((warning) => html`<p class="hint">${warning}.</p>`)}`;
}

type Named = { readonly what: 'component' | 'group'; readonly id: string; readonly name: string };

function controls(shown: Shown, named: Named, { isFirst, isLast }: Ends): Html {
  const { page, formToken } = shown;
  if (formToken === null) return NO_HTML;
  const { what, id, name } = named;
  return html`<form class="row moves" method="post" action="/pages/${page.id}/arrangement">${formToken}
<input type="hidden" name="what" value="${what}"><input type="hidden" name="moved" value="${id}">
<button class="button-quiet" name="by" value="-1" aria-label="Move ${name} up"${isFirst ? html` disabled` : NO_HTML}>↑</button>
<button class="button-quiet" name="by" value="1" aria-label="Move ${name} down"${isLast ? html` disabled` : NO_HTML}>↓</button>
${removeLink(page.id, named)}</form>`;
}

function removeOnly({ page, formToken }: Shown, named: Named): Html {
  return formToken === null ? NO_HTML : removeLink(page.id, named);
}

function removeLink(page: string, { what, id, name }: Named): Html {
  return html`<a class="button button-quiet" href="/pages/${page}/${what}s/${id}/delete" aria-label="Remove ${name}">Remove</a>`;
}
