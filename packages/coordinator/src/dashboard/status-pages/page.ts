import { idOf } from '../../api/endpoint.ts';
import type { Called } from '../../api/in-process.ts';
import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { FORM_STYLE } from '../assets.ts';
import type { DashboardPage, DashboardRequest } from '../page.ts';
import { pageHead } from '../page-parts.ts';
import { monitorNames } from '../resources/by-ids.ts';
import { declaredIn, declaredNotice, facts } from '../resources/declared.ts';
import { VERSION_FIELD } from '../resources/draft.ts';
import { arranged, type Item } from './arrangement.ts';
import {
  type ComponentView,
  contentsOf,
  type GroupView,
  PAGE_FORM,
  type StatusPageView,
  servedState,
} from './page-views.ts';

/** The editor of a status page: its appearance, its components and groups in their order, its settings. */
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
    const shown = { page, names, formToken: request.can('write') ? request.formToken : null };
    return {
      title: page.title,
      styles: [FORM_STYLE],
      body: html`${head(request, page)}
${notices(headers, page)}
${appearance(request, headers, page)}
${contents(shown, arranged(components, groups))}
<section class="stack" aria-labelledby="settings"><h2 id="settings">Settings</h2>
${facts(PAGE_FORM, page)}</section>`,
    };
  },
};

function head({ can }: DashboardRequest, page: StatusPageView): Html {
  const { id, slug, published } = page;
  const view = published ? html`<a class="button" href="/status/${slug}">Open the page</a>` : NO_HTML;
  const edit = html`<a class="button" href="/pages/${id}/edit">Edit settings</a>
<a class="button button-danger" href="/pages/${id}/delete">Remove</a>`;
  return pageHead(page.title, {
    above: [{ href: '/pages', label: 'Status pages' }],
    actions: html`<a class="button" href="/pages/${id}/preview">Preview</a>${view}${can('write') ? edit : NO_HTML}`,
    lead: html`${servedState(page)} <span>/status/${slug}</span>`,
  });
}

function notices(headers: Called['headers'], { warnings }: StatusPageView): Html {
  const declared = declaredIn(headers);
  return html`${declared === null ? NO_HTML : declaredNotice('status page', 'svc_status_page', declared)}${warnings.map(
    (warning) => html`<p class="notice notice-warning">${warning}.</p>`,
  )}`;
}

const THEMES = [
  ['system', 'As the system of the visitor prefers'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

const LATENCIES = [
  ['none', 'Do not show them'],
  ['24h', 'Of the last 24 hours'],
  ['7d', 'Of the last 7 days'],
] as const;

function appearance(
  { can, formToken }: DashboardRequest,
  { etag = '' }: Called['headers'],
  page: StatusPageView,
): Html {
  if (!can('write')) return NO_HTML;
  const { id, published, theme, latency } = page;
  return html`<section class="stack" aria-labelledby="appearance"><h2 id="appearance">Appearance</h2>
<form class="form" method="post" action="/pages/${id}/appearance">${formToken}
<input type="hidden" name="${VERSION_FIELD}" value="${etag}">
<label class="choice"><input type="checkbox" name="published" value="true"${published ? html` checked` : NO_HTML}> Visitors get the page</label>
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
  /** The hidden field of the session; null: the visitor may not change anything. */
  readonly formToken: Html | null;
};

type PageItem = Item<ComponentView, GroupView>;

function contents(shown: Shown, items: readonly PageItem[]): Html {
  const { page, formToken } = shown;
  const add =
    formToken === null
      ? NO_HTML
      : html`<div class="row"><a class="button" href="/pages/${page.id}/components/new">Add a component</a>
<a class="button" href="/pages/${page.id}/groups/new">Add a group</a></div>`;
  const list =
    items.length === 0
      ? html`<p class="soft">The page shows nothing yet. A component shows a monitor, or a text of your own.</p>`
      : html`<ol class="plain-list arrangement">${items.map((item, index) => itemHtml(shown, item, endsOf(index, items.length)))}</ol>`;
  return html`<section class="stack" aria-labelledby="components"><div class="row row-apart"><h2 id="components">Components</h2>${add}</div>
${list}</section>`;
}

/** Whether something is first or last in its list: it cannot be moved beyond. */
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
