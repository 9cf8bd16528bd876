import { COMPONENT_TYPES } from '@svc/shared/resources/component.ts';
import type { StoredComponent } from '../../configuration/stored.ts';
import { hiddenMonitors as idsOfHidden } from '../../store/monitors.ts';
import type { ApiParts } from '../api-parts.ts';
import { defineResources, serveResources } from '../collection.ts';
import { idOf, type ServedEndpoint, workspaceOf } from '../endpoint.ts';
import type { ObjectRequest } from '../objects.ts';
import { invalid, Problem } from '../problem.ts';
import { componentView, groupView } from '../views.ts';

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
            if (type === 'monitor' && monitorId === null) return componentView(component, [SHOWS_NOTHING]);
            return componentView(component, hidden.has(Number(monitorId)) ? [HIDDEN] : []);
          });
        },
      },
      parts,
    ),
    ...serveResources(
      COMPONENT_GROUP,
      { ...ofPage, table: 'component_groups', present: (stored) => stored.map(groupView) },
      parts,
    ),
  ];
}

const HIDDEN = 'the page does not show this component: the page is public and the monitor is not';
const SHOWS_NOTHING = 'the page does not show this component: its monitor was removed';

/** Ids of monitors that components of a public page show and that are not public themselves. */
async function hiddenMonitors(
  store: ApiParts['store'],
  reading: ApiParts['reading'],
  components: readonly StoredComponent[],
): Promise<ReadonlySet<number>> {
  const [first] = components;
  const shown = components.flatMap(({ attributes }) => attributes.monitor_id ?? []);
  if (first === undefined || shown.length === 0) return new Set();
  const page = await reading.find('status_pages', first, Number(first.attributes.page_id), 'masked');
  if (page?.attributes.access_type !== 'public') return new Set();
  return idsOfHidden(store, shown.map(Number));
}

/** @throws Problem when it does not exist or belongs to another workspace */
async function requirePage(reading: ApiParts['reading'], request: ObjectRequest): Promise<void> {
  const [workspaceId, pageId] = [workspaceOf(request), idOf(request, 'page_id')];
  const page = await reading.find('status_pages', { workspaceId }, pageId, 'masked');
  if (page === null) throw new Problem('not-found', `there is no status page ${pageId}`);
}

/** Sets `page_id` from the path when the body omits it. Another id is refused. */
function onPage(body: unknown, request: ObjectRequest): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const pageId = String(idOf(request, 'page_id'));
  const given = 'page_id' in body ? (body.page_id ?? pageId) : pageId;
  if (given !== pageId) {
    throw invalid([{ path: ['page_id'], message: `must be ${pageId}, the page in the path, or omitted` }]);
  }
  return { ...body, page_id: pageId };
}
