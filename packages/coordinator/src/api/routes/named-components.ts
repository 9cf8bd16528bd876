import { z } from 'zod';
import { findComponents, type NamedComponent } from '../../store/components.ts';
import { id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { idsFilter, nameFilter } from '../filters.ts';
import { listOf, offsetPage } from '../paging.ts';

const namedComponent = z
  .object({
    id,
    page_id: id,
    page_title: z.string(),
    monitor_id: id.nullable(),
    name: z
      .string()
      .nullable()
      .meta({ description: 'Its own name, or that of its monitor. Null where it has neither.' }),
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

/** The list of the components of all status pages, for who chooses among them. */
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
