import { idOf } from '../../api/endpoint.ts';
import { pagePreview } from '../../api/routes/status-pages.ts';
import { pageHeaders } from '../../web/headers.ts';
import type { DashboardPage } from '../page.ts';

/** A status page as its visitors see it, also while it is not served. */
export const statusPagePreview: DashboardPage = {
  method: 'GET',
  path: '/pages/{id}/preview',
  scope: 'read',
  async handle(request) {
    const text = await request.api.read(pagePreview, { id: idOf(request) });
    return { response: new Response(text, { headers: pageHeaders() }) };
  },
};
