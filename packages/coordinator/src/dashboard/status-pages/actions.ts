import { type Html, html } from '../../web/html.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../page.ts';
import { problemIn } from '../page.ts';
import { VERSION_FIELD } from '../resources/draft.ts';
import { type Removal, removalPages } from '../resources/removal.ts';
import { arranged, type Move, moved } from './arrangement.ts';
import { everyMember, type GroupView, type ListedComponent } from './page-views.ts';

/** What is done with a status page: its appearance, its order, removals. */
export const statusPageActions: readonly DashboardPage[] = [
  { method: 'POST', path: '/pages/{id}/appearance', scope: 'write', handle: saveAppearance },
  { method: 'POST', path: '/pages/{id}/arrangement', scope: 'write', handle: arrange },
  ...removalPages('/pages/{id}/delete', pageRemoval),
  ...removalPages('/pages/{page}/components/{component}/delete', componentRemoval),
  ...removalPages('/pages/{page}/groups/{group}/delete', groupRemoval),
];

async function saveAppearance({ api, ids, form }: DashboardRequest): Promise<DashboardAnswer> {
  const id = ids.id ?? 0;
  const answer = await api.call(
    'PATCH',
    `/v1/status-pages/${id}/appearance`,
    { published: form.has('published'), theme: form.text('theme'), latency: form.text('latency') },
    { 'if-match': form.text(VERSION_FIELD) },
  );
  const problem = problemIn(answer);
  const redirect = `/pages/${id}`;
  if (problem === null) return { redirect, notice: 'The appearance was saved.' };
  const said =
    answer.status === 412
      ? 'Somebody else changed this page after you opened it. Nothing was saved: look at it, and save again.'
      : `Nothing was saved: ${problem.detail}`;
  return { redirect, notice: said };
}

/** Moves a component or a group by one place. */
async function arrange({ api, ids, form }: DashboardRequest): Promise<DashboardAnswer> {
  const path = `/v1/status-pages/${ids.id ?? 0}`;
  const redirect = `/pages/${ids.id ?? 0}#components`;
  const move: Move = {
    what: form.text('what') === 'group' ? 'group' : 'component',
    id: form.text('moved'),
    by: form.text('by') === '-1' ? -1 : 1,
  };
  const components = await everyMember<ListedComponent>(api, `${path}/components`);
  const groups = await everyMember<GroupView>(api, `${path}/component-groups`);
  const places = moved(arranged(components, groups), move);
  const problem = problemIn(await api.call('PATCH', `${path}/arrangement`, { components: places }));
  return problem === null ? { redirect } : { redirect, notice: `Nothing was moved: ${problem.detail}` };
}

function pageRemoval({ ids, api }: DashboardRequest): Removal {
  const object = `/v1/status-pages/${ids.id ?? 0}`;
  const path = `/pages/${ids.id ?? 0}`;
  return {
    object,
    kindOf: () => 'svc_status_page',
    noun: 'status page',
    path: `${path}/delete`,
    after: '/pages',
    cancel: path,
    nameOf: ({ title }) => String(title),
    async hanging(_request, { slug }) {
      const components = await everyMember<ListedComponent>(api, `${object}/components`);
      const groups = await everyMember<GroupView>(api, `${object}/component-groups`);
      return html`<p>${counted(components.length, 'component')} and ${counted(groups.length, 'group')} are removed with it. Visitors of <code>/status/${slug}</code> get “not found”. The monitors stay.</p>`;
    },
  };
}

function componentRemoval({ ids }: DashboardRequest): Removal {
  const page = ids.page ?? 0;
  const component = ids.component ?? 0;
  return {
    object: `/v1/status-pages/${page}/components/${component}`,
    kindOf: () => 'svc_status_page_component',
    noun: 'component',
    path: `/pages/${page}/components/${component}/delete`,
    after: `/pages/${page}`,
    cancel: `/pages/${page}`,
    nameOf: ({ name, id }) => String(name ?? id),
    hanging: async (): Promise<Html> => html`<p>The page does not show it any more. Its monitor stays.</p>`,
  };
}

function groupRemoval({ ids, api }: DashboardRequest): Removal {
  const page = ids.page ?? 0;
  const group = ids.group ?? 0;
  return {
    object: `/v1/status-pages/${page}/component-groups/${group}`,
    kindOf: () => 'svc_status_page_component_group',
    noun: 'group',
    path: `/pages/${page}/groups/${group}/delete`,
    after: `/pages/${page}`,
    cancel: `/pages/${page}`,
    nameOf: ({ name }) => String(name),
    async hanging() {
      const components = await everyMember<ListedComponent>(api, `/v1/status-pages/${page}/components`);
      const count = components.filter(({ group_id: id }) => id === String(group)).length;
      return html`<p>${count === 0 ? 'It has no components.' : `${counted(count, 'component')} of it stay on the page, without a group.`}</p>`;
    },
  };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
