import { COMPONENT_TYPES } from '@svc/shared/resources/component.ts';
import { z } from 'zod';
import type { StoredComponent } from '../../declaration/stored.ts';
import { hiddenMonitors as idsOfHidden } from '../../store/declaration/monitors.ts';
import { findComponents, type NamedComponent } from '../../store/declaration/status-pages.ts';
import { id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { defineResources, resourceView, serveResources } from '../collection.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { idsFilter, listOf, nameFilter, offsetPage } from '../lists.ts';
import type { ObjectRequest } from '../objects.ts';
import { invalid, Problem } from '../problem.ts';

export const COMPONENT = defineResources('/v1/status-pages/{page_id}/components', {
  tag: 'Status pages',
  kinds: ['svc_status_page_component'],
  named: 'own name',
  types: COMPONENT_TYPES,
});

export const COMPONENT_GROUP = defineResources('/v1/status-pages/{page_id}/component-groups', {
  tag: 'Status pages',
  kinds: ['svc_status_page_component_group'],
  named: 'name',
  removal: 'The components of the group stay on the page, without a group.',
});

/** The endpoints of the components and groups of status pages. */
export function componentEndpoints(parts: ApiParts): ServedEndpoint[] {
  const { reading, store } = parts;
  const ofPage = {
    requireParent: (request: ObjectRequest) => requirePage(reading, request),
    completed: onPage,
  };
  return [
    ...serveResources(
      COMPONENT,
      {
        ...ofPage,
        table: 'components',
        async present(stored) {
          const hidden = await hiddenMonitors(store, reading, stored);
          return stored.map((component) => {
            const { type, monitor_id: monitorId } = component.attributes;
            if (type === 'monitor' && monitorId === null)
              return resourceView(component, { warnings: [SHOWS_NOTHING] });
            return resourceView(component, { warnings: hidden.has(Number(monitorId)) ? [HIDDEN] : [] });
          });
        },
      },
      parts,
    ),
    ...serveResources(
      COMPONENT_GROUP,
      {
        ...ofPage,
        table: 'component_groups',
        present: (stored) => stored.map((group) => resourceView(group, {})),
      },
      parts,
    ),
  ];
}

const HIDDEN = 'the page does not show this component: the page is public and the monitor is not';
const SHOWS_NOTHING = 'the page does not show this component: its monitor was removed';

/**
 * Finds the monitors that components of a public page would show, but that are not public. Returns their ids.
 */
async function hiddenMonitors(
  store: ApiParts['store'],
  reading: ApiParts['reading'],
  components: readonly StoredComponent[],
): Promise<ReadonlySet<number>> {
  const [first] = components;
  const shown = components.flatMap(({ attributes }) => attributes.monitor_id ?? []);
  if (first === undefined || shown.length === 0) return new Set();
  const page = await reading.findStored('status_pages', first, Number(first.attributes.page_id), 'masked');
  if (page?.attributes.access_type !== 'public') return new Set();
  return idsOfHidden(store, shown.map(Number));
}

/**
 * Checks that the status page in the path exists.
 *
 * @throws Problem when the page does not exist or belongs to another workspace
 */
async function requirePage(reading: ApiParts['reading'], request: ObjectRequest): Promise<void> {
  const [workspaceId, pageId] = [workspaceOf(request), idOf(request, 'page_id')];
  const page = await reading.findStored('status_pages', { workspaceId }, pageId, 'masked');
  if (page === null) throw new Problem('not-found', `there is no status page ${pageId}`);
}

/**
 * Sets `page_id` to the page in the path if the body has no `page_id`.
 *
 * @throws Problem `invalid` when the body has the id of another page
 */
function onPage(body: unknown, request: ObjectRequest): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const pageId = String(idOf(request, 'page_id'));
  const given = 'page_id' in body ? (body.page_id ?? pageId) : pageId;
  if (given !== pageId) {
    throw invalid([{ path: ['page_id'], message: `must be ${pageId}, the page in the path, or omitted` }]);
  }
  return { ...body, page_id: pageId };
}

const namedComponent = z
  .object({
    id,
    page_id: id,
    page_title: z.string(),
    monitor_id: id.nullable(),
    name: z
      .string()
      .nullable()
      .meta({ description: 'Its own name, or the name of its monitor. Null where it has neither.' }),
  })
  .meta({ examples: [{ id: '7', page_id: '5', page_title: 'Shop', monitor_id: '12', name: 'API' }] });

const query = offsetPage.extend({
  ids: idsFilter,
  page_id: id.optional().meta({ description: 'Only components of this status page.' }),
  name: nameFilter('name, or that of its monitor,'),
});

export const namedComponents = endpoint({
  method: 'GET',
  path: '/v1/components',
  access: 'read',
  tag: 'Status pages',
  summary: 'List the components of all status pages with their names, by page and id',
  query,
  answers: { 200: { description: 'A page of the list.', schema: listOf(namedComponent) } },
});

/**
 * Makes the endpoint that lists the components of all status
 * pages, so that people can choose components from a list.
 */
export function namedComponentEndpoints({ store }: Pick<ApiParts, 'store'>): ServedEndpoint[] {
  return [
    serve(namedComponents, async (request) => {
      const { limit, offset, ids, page_id: pageId, name } = request.query;
      const { rows, total } = await findComponents(store, {
        workspaceId: workspaceOf(request),
        ids,
        pageId: pageId === undefined ? undefined : Number(pageId),
        nameContains: name,
        limit,
        offset,
      });
      return ok({ data: rows.map(viewOf), total, limit, offset });
    }),
  ];
}

function viewOf({ id, page_id, monitor_id, ...row }: NamedComponent): z.infer<typeof namedComponent> {
  return {
    ...row,
    id: String(id),
    page_id: String(page_id),
    monitor_id: monitor_id === null ? null : String(monitor_id),
  };
}
