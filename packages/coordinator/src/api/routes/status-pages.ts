import { THEMES } from '@svc/shared/resources/status-page.ts';
import { z } from 'zod';
import type { Row } from '../../configuration/rows.ts';
import { type Collection, type CollectionScope, collectionEndpoints, scopeOf } from '../collection.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type Endpoint, endpoint, idOf, ok } from '../endpoint.ts';
import { entityTag, expectedVersion } from '../entity-tag.ts';
import { invalid, Problem } from '../problem.ts';
import { componentView, groupView, pageView } from '../views.ts';

export function statusPageEndpoints(dependencies: ApiDependencies): Endpoint[] {
  return [
    ...collectionEndpoints(pages(dependencies), dependencies),
    appearanceEndpoint(dependencies),
    ...collectionEndpoints(components(dependencies), dependencies),
    ...collectionEndpoints(groups(dependencies), dependencies),
  ];
}

function pages({ store, secrets }: ApiDependencies): Collection<Row<'status_pages'>> {
  return {
    path: '/v1/status-pages',
    tag: 'Status pages',
    noun: 'status page',
    kinds: ['svc_status_page'],
    kindFor: () => 'svc_status_page',
    kindOf: () => 'svc_status_page',
    find: ({ workspaceId }, id) => findPage(store, workspaceId, id),
    async page({ workspaceId }, { limit, offset }) {
      const all = store.read.selectFrom('status_pages').where('workspace_id', '=', workspaceId);
      const [rows, counted] = await Promise.all([
        all.selectAll().orderBy('id').limit(limit).offset(offset).execute(),
        all.select((from) => from.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
      ]);
      return { rows, total: counted.total };
    },
    present: async (rows, shown) => rows.map((row) => pageView(row, { secrets, shown })),
  };
}

const appearance = z.strictObject({
  published: z.boolean('must be true or false').optional(),
  theme: z.enum(THEMES, `must be one of ${THEMES.join(', ')}`).optional(),
});

function appearanceEndpoint({ store, secrets, configuration }: ApiDependencies): Endpoint {
  return endpoint({
    method: 'PATCH',
    path: '/v1/status-pages/{id}/appearance',
    access: 'write',
    tag: 'Status pages',
    summary: 'Whether a page is served, and its colours',
    body: appearance,
    headers: ['If-Match'],
    answers: { 200: { description: 'The page as it is now.', schema: { resource: 'svc_status_page' } } },
    async handle(request) {
      const { workspaceId } = scopeOf(request);
      const id = idOf(request);
      const { published, theme } = request.body;
      const version = expectedVersion(request.header('if-match'));
      await configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
        change.setAppearance(
          id,
          { ...(published === undefined ? {} : { published }), ...(theme === undefined ? {} : { theme }) },
          version === undefined ? {} : { expectedVersion: version },
        ),
      );
      const row = await findPage(store, workspaceId, id);
      if (row === undefined) throw new Problem('not-found', `there is no status page ${id}`);
      return ok(pageView(row, { secrets, shown: 'open' }), { etag: entityTag(row.row_version) });
    },
  });
}

function components({ store }: ApiDependencies): Collection<Row<'components'>> {
  return {
    path: '/v1/status-pages/{page_id}/components',
    tag: 'Status pages',
    noun: 'component',
    kinds: ['svc_status_page_component'],
    kindFor: () => 'svc_status_page_component',
    kindOf: () => 'svc_status_page_component',
    completed: onPage,
    find: ({ workspaceId, ids }, id) =>
      store.read
        .selectFrom('components')
        .selectAll()
        .where('id', '=', id)
        .where('page_id', '=', pageOf(ids))
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst(),
    async page({ workspaceId, ids }, { limit, offset }) {
      await requirePage(store, workspaceId, pageOf(ids));
      const all = store.read.selectFrom('components').where('page_id', '=', pageOf(ids));
      const [rows, counted] = await Promise.all([
        all.selectAll().orderBy('id').limit(limit).offset(offset).execute(),
        all.select((from) => from.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
      ]);
      return { rows, total: counted.total };
    },
    async present(rows) {
      const hidden = await hiddenComponents(store, rows);
      return rows.map((row) => componentView(row, hidden.has(row.id) ? [HIDDEN] : []));
    },
  };
}

const HIDDEN = 'left out of the page: the page is public and the monitor is not';

/** Components of public pages whose monitor is not public. */
async function hiddenComponents(
  store: ApiDependencies['store'],
  rows: readonly Row<'components'>[],
): Promise<Set<number>> {
  const monitorIds = rows.flatMap(({ monitor_id }) => (monitor_id === null ? [] : [monitor_id]));
  const [pageId] = rows.map(({ page_id }) => page_id);
  if (pageId === undefined || monitorIds.length === 0) return new Set();
  const [page, monitors] = await Promise.all([
    store.read.selectFrom('status_pages').select('attributes').where('id', '=', pageId).executeTakeFirst(),
    store.read.selectFrom('monitors').select(['id', 'attributes']).where('id', 'in', monitorIds).execute(),
  ]);
  if (page === undefined || accessOf(page.attributes) !== 'public') return new Set();
  const secluded = new Set(monitors.filter(({ attributes }) => !isPublic(attributes)).map(({ id }) => id));
  return new Set(
    rows.filter(({ monitor_id }) => monitor_id !== null && secluded.has(monitor_id)).map(({ id }) => id),
  );
}

function accessOf(attributes: string): unknown {
  return (JSON.parse(attributes) as { access_type?: unknown }).access_type ?? 'public';
}

function isPublic(attributes: string): boolean {
  return (JSON.parse(attributes) as { public?: unknown }).public === true;
}

function groups({ store }: ApiDependencies): Collection<Row<'component_groups'>> {
  return {
    path: '/v1/status-pages/{page_id}/component-groups',
    tag: 'Status pages',
    noun: 'component group',
    kinds: ['svc_status_page_component_group'],
    kindFor: () => 'svc_status_page_component_group',
    kindOf: () => 'svc_status_page_component_group',
    completed: onPage,
    find: ({ workspaceId, ids }, id) =>
      store.read
        .selectFrom('component_groups')
        .selectAll()
        .where('id', '=', id)
        .where('page_id', '=', pageOf(ids))
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst(),
    async page({ workspaceId, ids }, { limit, offset }) {
      await requirePage(store, workspaceId, pageOf(ids));
      const all = store.read.selectFrom('component_groups').where('page_id', '=', pageOf(ids));
      const [rows, counted] = await Promise.all([
        all.selectAll().orderBy('id').limit(limit).offset(offset).execute(),
        all.select((from) => from.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
      ]);
      return { rows, total: counted.total };
    },
    present: async (rows) => rows.map(groupView),
  };
}

function findPage(store: ApiDependencies['store'], workspaceId: number, id: number) {
  return store.read
    .selectFrom('status_pages')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
}

/** @throws Problem when it is not there, or another workspace's. */
async function requirePage(store: ApiDependencies['store'], workspaceId: number, id: number): Promise<void> {
  if ((await findPage(store, workspaceId, id)) === undefined) {
    throw new Problem('not-found', `there is no status page ${id}`);
  }
}

function pageOf(ids: CollectionScope['ids']): number {
  return idOf({ ids }, 'page_id');
}

/** `page_id` may be left out of the body, as the path says it; another one is refused. */
function onPage(body: unknown, { ids }: CollectionScope): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const pageId = String(pageOf(ids));
  const given = 'page_id' in body ? (body.page_id ?? pageId) : pageId;
  if (given !== pageId) {
    throw invalid([{ path: ['page_id'], message: `must be ${pageId}, the page of the path, or left out` }]);
  }
  return { ...body, page_id: pageId };
}
