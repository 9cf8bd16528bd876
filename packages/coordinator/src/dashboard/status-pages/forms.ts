import { component } from '@svc/shared/resources/component.ts';
import { componentGroup } from '@svc/shared/resources/component-group.ts';
import { statusPage } from '@svc/shared/resources/status-page.ts';
import { COMPONENT, COMPONENT_GROUP } from '../../api/routes/components.ts';
import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { formOf } from '../forms/fields.ts';
import type { DashboardPage, DashboardRequest } from '../page.ts';
import type { Editor } from '../resources/editor.ts';
import { formPages } from '../resources/form-pages.ts';

export const PAGE_FORM = formOf(statusPage);
const COMPONENT_FORM = formOf(component);
const GROUP_FORM = formOf(componentGroup);

/** The pages on which status pages, their components and groups are made and changed. */
export const statusPageForms: readonly DashboardPage[] = [
  ...formPages('/pages/new', '/pages/{id}/edit', 'id', () => pageEditor),
  ...formPages(
    '/pages/{page}/components/new',
    '/pages/{page}/components/{component}',
    'component',
    componentEditor,
  ),
  ...formPages('/pages/{page}/groups/new', '/pages/{page}/groups/{group}', 'group', groupEditor),
];

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
};

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
