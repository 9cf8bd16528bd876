import { idOf } from '../../api/endpoint.ts';
import { COMPONENT, COMPONENT_GROUP } from '../../api/routes/components.ts';
import { arrangePage, changeAppearance, STATUS_PAGE } from '../../api/routes/status-pages.ts';

import { type Html, html } from '../../web/html.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../page.ts';
import { VERSION_FIELD } from '../resources/draft.ts';
import { type Removal, removalPages } from '../resources/removal.ts';
import { arranged, type Move, moved } from './arrangement.ts';
import {
  type ComponentView,
  componentsOf,
  contentsOf,
  type GroupView,
  type StatusPageView,
} from './page-views.ts';

/** What is done with a status page: its appearance, its order, removals. */
export const statusPageActions: readonly DashboardPage[] = [
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
  const places = moved(arranged(components, groups), move);
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
    async hanging({ api }, { slug }) {
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
    hanging: async (): Promise<Html> => html`<p>The page does not show it any more. Its monitor stays.</p>`,
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
    async hanging({ api }) {
      const components = await componentsOf(api, page);
      const count = components.filter(({ group_id: id }) => id === String(group)).length;
      return html`<p>${count === 0 ? 'It has no components.' : `${counted(count, 'component')} of it stay on the page, without a group.`}</p>`;
    },
  };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
