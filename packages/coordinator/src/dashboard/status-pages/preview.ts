import { pageHeaders } from '../../web/headers.ts';
import type { DashboardPage } from '../page.ts';

/** A status page as its visitors see it, also while it is not served. */
export const statusPagePreview: DashboardPage = {
  method: 'GET',
  path: '/pages/{id}/preview',
  scope: 'read',
  async handle({ api, ids }) {
    const text = await api.read<string>(`/v1/status-pages/${ids.id ?? 0}/preview`);
    return { response: new Response(text, { headers: pageHeaders() }) };
  },
};
