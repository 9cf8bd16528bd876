import { z } from 'zod';
import { InvalidReference } from '../../configuration/errors.ts';
import { storedIn } from '../../configuration/reading.ts';
import { listResources } from '../../store/resource-lists.ts';
import { id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, idOf, NO_CONTENT, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { Problem } from '../problem.ts';

/** Most components that are moved at once, and that a page is read with. */
const MOST_MOVED = 1_000;

const place = z.int('must be a whole number').min(-2_147_483_648).max(2_147_483_647).nullable();

const arrangement = z
  .strictObject({
    components: z
      .array(
        z.strictObject({
          id,
          order: place.meta({ description: 'Place on the page, in ascending order.' }),
          group_order: place.meta({ description: 'Place in the group, in ascending order.' }),
        }),
      )
      .max(MOST_MOVED)
      .meta({ description: 'Components of the page that get other places. The others stay where they are.' }),
  })
  .meta({
    examples: [
      {
        components: [
          { id: '7', order: 1, group_order: null },
          { id: '9', order: 2, group_order: null },
        ],
      },
    ],
  });

type Parts = Pick<ApiParts, 'configuration' | 'reading' | 'secrets'>;

export const arrangePage = endpoint({
  method: 'PATCH',
  path: '/v1/status-pages/{id}/arrangement',
  access: 'write',
  tag: 'Status pages',
  summary: 'Change the places of components of a page, all at once',
  body: arrangement,
  answers: { 204: { description: 'Every component has its place.' } },
  problems: ['conflict', 'reference-not-found'],
});

/** The endpoint that moves components of a status page, all at once or none. */
export function pageArrangementEndpoints({ configuration, reading, secrets }: Parts): ServedEndpoint[] {
  return [
    serve(arrangePage, async (request) => {
      const [workspaceId, pageId] = [workspaceOf(request), idOf(request)];
      const page = await reading.find('status_pages', { workspaceId }, pageId, 'masked');
      if (page === null) throw new Problem('not-found', `there is no status page ${pageId}`);
      await configuration.transaction({ workspaceId, actor: 'api' }, async (change) => {
        const all = { limit: MOST_MOVED, offset: 0 };
        const { rows } = await listResources(change.tx, 'components', { workspaceId, pageId }, all, {});
        const source = { source: change.tx, secrets, shown: 'masked' } as const;
        const stored = new Map(
          (await storedIn(source, 'components', rows)).map((component) => [String(component.id), component]),
        );
        for (const [index, { id: componentId, ...places }] of request.body.components.entries()) {
          const component = stored.get(componentId);
          if (component === undefined) {
            const message = `page ${pageId} has no component ${componentId}`;
            throw new InvalidReference(message, ['components', index, 'id']);
          }
          const attributes = { ...component.attributes, ...places };
          await change.update('svc_status_page_component', component.id, attributes);
        }
        await request.audit.write(change.tx);
      });
      return NO_CONTENT;
    }),
  ];
}
