import { PAGE_LATENCIES, THEMES } from '@svc/shared/resources/status-page.ts';
import { z } from 'zod';
import type { StoredPage } from '../../configuration/stored.ts';
import { checkedDomains } from '../../store/page-domains.ts';
import type { ApiParts } from '../api-parts.ts';
import { defineResources, serveResources } from '../collection.ts';
import { endpoint, idOf, type ServedEndpoint } from '../endpoint.ts';
import { furtherChange, versionOptions } from '../objects.ts';
import { pageView } from '../views.ts';

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

export const STATUS_PAGE = defineResources('/v1/status-pages', {
  tag: 'Status pages',
  kinds: ['svc_status_page'],
  named: 'title or slug',
  removal: 'The components and component groups of the page are removed with it.',
});

export const changeAppearance = endpoint({
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
});

export function statusPageEndpoints(parts: ApiParts): ServedEndpoint[] {
  return serveResources(
    STATUS_PAGE,
    {
      table: 'status_pages',
      present: (stored) => pageViews(parts, stored),
      further: [
        furtherChange(changeAppearance, (request) => {
          const { published, theme, latency } = request.body;
          const appearance = {
            ...(published === undefined ? {} : { published }),
            ...(theme === undefined ? {} : { theme }),
            ...(latency === undefined ? {} : { latency }),
          };
          const versions = versionOptions(request);
          return (change) => change.setAppearance(idOf(request), appearance, versions);
        }),
      ],
    },
    parts,
  );
}

async function pageViews(
  { store, guard }: Pick<ApiParts, 'store' | 'guard'>,
  stored: readonly StoredPage[],
): Promise<object[]> {
  const withDomain = stored.flatMap(({ id, attributes }) => (attributes.custom_domain === null ? [] : [id]));
  const checked = await checkedDomains(store, withDomain);
  return stored.map((page) => pageView(page, checked.get(page.id) ?? null, guard));
}
