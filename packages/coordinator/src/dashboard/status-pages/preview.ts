import { pageHeaders } from '../../web/headers.ts';
import type { DashboardPage } from '../page.ts';
import { readWhole } from '../resources/read-whole.ts';

/** A status page as its visitors see it, also while it is not served. */
export const statusPagePreview: DashboardPage = {
  method: 'GET',
  path: '/pages/{id}/preview',
  scope: 'read',
  async handle({ api, ids }) {
    const path = `/v1/status-pages/${ids.id ?? 0}`;
    const { icon } = (await readWhole(api, path)).body as { icon: string | null };
    const text = await api.read<string>(`${path}/preview`);
    const images = icon === null ? null : URL.parse(icon);
    const headers = pageHeaders(images === null ? {} : { images: images.origin });
    return { response: new Response(text, { headers }) };
  },
};
