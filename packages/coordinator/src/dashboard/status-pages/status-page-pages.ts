import { component } from '@svc/shared/resources/component.ts';
import { componentGroup } from '@svc/shared/resources/component-group.ts';
import { idOf } from '../../api/endpoint.ts';
import { COMPONENT, COMPONENT_GROUP } from '../../api/routes/components.ts';
import { arrangePage, changeAppearance, pagePreview, STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { pageHeaders } from '../../web/headers.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { VERSION_FIELD } from '../forms/entries.ts';
import { formOf, optionLabel } from '../forms/fields.ts';
import { counted } from '../page-parts.ts';
import type { Editor } from '../resources/editor.ts';
import { formPages } from '../resources/form-pages.ts';
import { type Removal, removalPages } from '../resources/removal.ts';
import { searchedList } from '../resources/searched-list.ts';
import { arrangedItems, changedPlaces, type Move } from './arrangement.ts';
import { severalComponents } from './several-components.ts';
import {
  type ComponentView,
  componentsOf,
  contentsOf,
  type GroupView,
  PAGE_FORM,
  type StatusPageView,
  servedState,
  statusPagePage,
} from './status-page-editor.ts';

/** The page that lists the status pages. */
const statusPageList: DashboardPage = {
  method: 'GET',
  path: '/pages',
  scope: 'read',
  navigation: { label: 'Status pages', group: 'Tell' },
  handle: (request) =>
    searchedList(request, {
      title: 'Status pages',
      lead: 'What your visitors see.',
      path: '/pages',
      list: STATUS_PAGE.list,
      search: 'Search by title or slug',
      add: 'New status page',
      none: 'There is no status page yet. A status page tells your users which services work, and what you do about problems.',
      unmatched: 'No status page has this title or slug.',
      head: html`<th scope="col">Title</th><th scope="col">Served</th><th scope="col">Address</th><th scope="col">Who sees it</th>`,
      row: statusPageRow,
    }),
};

function statusPageRow(page: StatusPageView): Html {
  const { id, title, slug, custom_domain: domain, access_type: access } = page;
  return html`<tr><th scope="row" class="text-cell"><a href="/pages/${id}">${title}</a></th>
<td>${servedState(page)}</td>
<td><a href="/status/${slug}">/status/${slug}</a>${domain === null ? NO_HTML : html`<br>${domain}`}</td>
<td>${optionLabel(access)}</td></tr>`;
}

const COMPONENT_FORM = formOf(component);
const GROUP_FORM = formOf(componentGroup);

/** The forms in which status pages, their components and groups are created and changed. */
const statusPageForms: readonly DashboardPage[] = [
  ...severalComponents,
  ...formPages('/pages/new', '/pages/{id}/edit', 'id', () => pageEditor),
  ...formPages(
    '/pages/{page}/components/new',
    '/pages/{page}/components/{component}',
    'component',
    componentEditor,
  ),
  ...formPages('/pages/{page}/groups/new', '/pages/{page}/groups/{group}', 'group', groupEditor),
];

/** Maximum length of a proposed slug. */
const LONGEST_SLUG = 60;

const pageEditor: Editor = {
  form: PAGE_FORM,
  objects: STATUS_PAGE,
  noun: 'status page',
  list: { href: '/pages', label: 'Status pages' },
  nameOf: ({ title }) => String(title),
  newTitle: 'New status page',
  newPath: '/pages/new',
  editPath: (id) => `/pages/${id}/edit`,
  after: (id) => (id === null ? '/pages' : `/pages/${id}`),
  introduction: html`<p class="soft">A new page is not served until you publish it. Without a slug, it gets one from its title.</p>`,
  toBody: (filled, stored) =>
    stored === null && filled.slug === '' ? { ...filled, slug: slugOf(String(filled.title)) } : filled,
  // A page that people make step by step is not shown to visitors before they say so.
  async saved({ api }, id, isNew) {
    if (!isNew) return null;
    const { problem } = await api.call(changeAppearance, { id }, { body: { published: false } });
    return problem?.message ?? null;
  },
};

/** A slug for a title: `example-shop` for `Example shop`; '' if the title has no letter or digit of ASCII. */
export function slugOf(title: string): string {
  const plain = title.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST_SLUG)
    .replace(/^-+|-+$/g, '');
}

function componentEditor({ ids }: DashboardRequest): Editor {
  const page = `/pages/${ids.page ?? 0}`;
  return {
    form: COMPONENT_FORM,
    objects: COMPONENT,
    above: { page_id: ids.page ?? 0 },
    noun: 'component',
    list: { href: page, label: 'Status page' },
    nameOf: ({ name, id }) => String(name ?? `component ${id}`),
    newTitle: 'New component',
    leftOut: ['page_id'],
    initial: { type: 'monitor' },
    newPath: `${page}/components/new`,
    editPath: (id) => `${page}/components/${id}`,
    after: () => page,
  };
}

function groupEditor({ ids }: DashboardRequest): Editor {
  const page = `/pages/${ids.page ?? 0}`;
  return {
    form: GROUP_FORM,
    objects: COMPONENT_GROUP,
    above: { page_id: ids.page ?? 0 },
    noun: 'group',
    list: { href: page, label: 'Status page' },
    nameOf: ({ name }) => String(name),
    newTitle: 'New group of components',
    leftOut: ['page_id'],
    newPath: `${page}/groups/new`,
    editPath: (id) => `${page}/groups/${id}`,
    after: () => page,
  };
}

/** The targets of the forms of a status page's editor: appearance, order, removals. */
const statusPageActions: readonly DashboardPage[] = [
  { method: 'POST', path: '/pages/{id}/appearance', scope: 'write', handle: saveAppearance },
  { method: 'POST', path: '/pages/{id}/arrangement', scope: 'write', handle: arrange },
  ...removalPages('/pages/{id}/delete', pageRemoval),
  ...removalPages('/pages/{page}/components/{component}/delete', componentRemoval),
  ...removalPages('/pages/{page}/groups/{group}/delete', groupRemoval),
];

async function saveAppearance(request: DashboardRequest): Promise<DashboardAnswer> {
  const { api, form } = request;
  const id = idOf(request);
  const { problem } = await api.call(
    changeAppearance,
    { id },
    {
      body: { published: form.has('published'), theme: form.text('theme'), latency: form.text('latency') },
      headers: { 'if-match': form.text(VERSION_FIELD) },
    },
  );
  const redirect = `/pages/${id}`;
  if (problem === null) return { redirect, notice: 'The appearance was saved.' };
  const said =
    problem.status === 412
      ? 'Somebody else changed this page after you opened it. Nothing was saved: look at it, and save again.'
      : `Nothing was saved: ${problem.message}`;
  return { redirect, notice: said };
}

/** Moves a component or a group by one place. */
async function arrange(request: DashboardRequest): Promise<DashboardAnswer> {
  const { api, form } = request;
  const id = idOf(request);
  const redirect = `/pages/${id}#components`;
  const move: Move = {
    what: form.text('what') === 'group' ? 'group' : 'component',
    id: form.text('moved'),
    by: form.text('by') === '-1' ? -1 : 1,
  };
  const { components, groups } = await contentsOf(api, id);
  const places = changedPlaces(arrangedItems(components, groups), move);
  const { problem } = await api.call(arrangePage, { id }, { body: { components: places } });
  return problem === null ? { redirect } : { redirect, notice: `Nothing was moved: ${problem.message}` };
}

function pageRemoval(request: DashboardRequest): Removal<StatusPageView> {
  const id = idOf(request);
  const path = `/pages/${id}`;
  return {
    objects: STATUS_PAGE,
    ids: { id },
    kindOf: () => 'svc_status_page',
    noun: 'status page',
    path: `${path}/delete`,
    after: '/pages',
    cancel: path,
    nameOf: ({ title }) => title,
    async consequences({ api }, { slug }) {
      const { components, groups } = await contentsOf(api, id);
      return html`<p>${counted(components.length, 'component')} and ${counted(groups.length, 'group')} are removed with it. Visitors of <code>/status/${slug}</code> get “not found”. The monitors stay.</p>`;
    },
  };
}

function componentRemoval(request: DashboardRequest): Removal<ComponentView> {
  const page = idOf(request, 'page');
  const component = idOf(request, 'component');
  return {
    objects: COMPONENT,
    ids: { page_id: page, id: component },
    kindOf: () => 'svc_status_page_component',
    noun: 'component',
    path: `/pages/${page}/components/${component}/delete`,
    after: `/pages/${page}`,
    cancel: `/pages/${page}`,
    nameOf: ({ name, id }) => name ?? id,
    consequences: async (): Promise<Html> =>
      html`<p>The page does not show it any more. Its monitor stays.</p>`,
  };
}

function groupRemoval(request: DashboardRequest): Removal<GroupView> {
  const page = idOf(request, 'page');
  const group = idOf(request, 'group');
  return {
    objects: COMPONENT_GROUP,
    ids: { page_id: page, id: group },
    kindOf: () => 'svc_status_page_component_group',
    noun: 'group',
    path: `/pages/${page}/groups/${group}/delete`,
    after: `/pages/${page}`,
    cancel: `/pages/${page}`,
    nameOf: ({ name }) => name,
    async consequences({ api }) {
      const components = await componentsOf(api, page);
      const count = components.filter(({ group_id: id }) => id === String(group)).length;
      return html`<p>${count === 0 ? 'It has no components.' : `${counted(count, 'component')} of it stay on the page, without a group.`}</p>`;
    },
  };
}

/** The preview of a status page, as visitors would see it. The page need not be published. */
const statusPagePreview: DashboardPage = {
  method: 'GET',
  path: '/pages/{id}/preview',
  scope: 'read',
  async handle(request) {
    const text = await request.api.read(pagePreview, { id: idOf(request) });
    return { response: new Response(text, { headers: pageHeaders() }) };
  },
};

/** All pages about status pages. */
export const statusPagePages: readonly DashboardPage[] = [
  statusPageList,
  ...statusPageForms,
  statusPagePage,
  statusPagePreview,
  ...statusPageActions,
];
