import { PAGE_LATENCIES, THEMES } from '@svc/shared/resources/status-page.ts';
import { z } from 'zod';
import type { StoredPage } from '../../configuration/stored.ts';
import { checkedDomains } from '../../store/page-domains.ts';
import type { ApiParts } from '../api-parts.ts';
import { type Collection, collectionEndpoints, scopeOf, versionOptions } from '../collection.ts';
import { type Endpoint, endpoint, idOf, ok } from '../endpoint.ts';
import { entityTag } from '../entity-tag.ts';
import { Problem } from '../problem.ts';
import { pageView } from '../views.ts';

export function statusPageEndpoints(parts: ApiParts): Endpoint[] {
  const collection: Collection<'status_pages'> = {
    table: 'status_pages',
    tag: 'Status pages',
    kinds: ['svc_status_page'],
    named: 'title or slug',
    removal: 'The components and component groups of the page are removed with it.',
    present: (stored) => pageViews(parts, stored),
  };
  return [...collectionEndpoints(collection, parts), appearanceEndpoint(parts)];
}

const appearance = z
  .strictObject({
    published: z.boolean('must be true or false').optional(),
    theme: z.enum(THEMES, `must be one of ${THEMES.join(', ')}`).optional(),
    latency: z
      .enum(PAGE_LATENCIES, `must be one of ${PAGE_LATENCIES.join(', ')}`)
      .meta({ description: 'The time over which the page shows latencies. With `none` it shows none.' })
      .optional(),
  })
  .meta({ examples: [{ published: true, theme: 'dark', latency: '24h' }] });

async function pageViews(
  { store, guard }: Pick<ApiParts, 'store' | 'guard'>,
  stored: readonly StoredPage[],
): Promise<object[]> {
  const withDomain = stored.flatMap(({ id, attributes }) => (attributes.custom_domain === null ? [] : [id]));
  const checked = await checkedDomains(store, withDomain);
  return stored.map((page) => pageView(page, checked.get(page.id) ?? null, guard));
}

function appearanceEndpoint({ reading, configuration, store, guard }: ApiParts): Endpoint {
  return endpoint({
    method: 'PATCH',
    path: '/v1/status-pages/{id}/appearance',
    access: 'write',
    tag: 'Status pages',
    summary: 'Change whether a page is served, its colours, and whether it shows latencies',
    body: appearance,
    headers: ['If-Match'],
    answers: {
      200: {
        description: 'The page as it is now.',
        schema: { resource: 'svc_status_page' },
        headers: ['ETag'],
      },
    },
    async handle(request) {
      const { workspaceId } = scopeOf(request);
      const id = idOf(request);
      const { published, theme, latency } = request.body;
      const appearance = {
        ...(published === undefined ? {} : { published }),
        ...(theme === undefined ? {} : { theme }),
        ...(latency === undefined ? {} : { latency }),
      };
      await configuration.transaction({ workspaceId, actor: 'api' }, async (change) => {
        await change.setAppearance(id, appearance, versionOptions(request));
        await request.audit.write(change.tx);
      });
      const page = await reading.find('status_pages', { workspaceId }, id, 'open');
      if (page === null) throw new Problem('not-found', `there is no status page ${id}`);
      const [view = {}] = await pageViews({ store, guard }, [page]);
      return ok(view, { etag: entityTag(page.rowVersion, view) });
    },
  });
}
