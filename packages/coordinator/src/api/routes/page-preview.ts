import { previewOf } from '../../pages/preview.ts';
import { pageHeaders } from '../../web/headers.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { Problem } from '../problem.ts';

export const pagePreview = endpoint({
  method: 'GET',
  path: '/v1/status-pages/{id}/preview',
  access: 'read',
  tag: 'Status pages',
  summary: 'Read a status page as its visitors see it',
  description:
    'Also a page that is not published, and one that needs a password: the token may read what it shows. Only the page itself is HTML here; what it links to is at its own address.',
  answers: { 200: { description: 'The page.', contentType: 'text/html; charset=utf-8' } },
});

export function pagePreviewEndpoints(parts: ApiParts): ServedEndpoint[] {
  const { reading, publicUrl } = parts;
  return [
    serve(pagePreview, async (request) => {
      const id = idOf(request);
      const page = await reading.find('status_pages', { workspaceId: workspaceOf(request) }, id, 'masked');
      if (page === null) throw new Problem('not-found', `there is no status page ${id}`);
      return ok(await previewOf(parts, page, publicUrl), pageHeaders());
    }),
  ];
}
