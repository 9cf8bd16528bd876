import type { RunningApi } from './api.ts';

/** A monitor that a page shows by its only component. */
export type Shop = { readonly monitorId: string; readonly pageId: string; readonly componentId: string };

export async function declareShop(api: RunningApi): Promise<Shop> {
  const monitor = { type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m' };
  const monitorId = await api.create('/v1/monitors', monitor);
  const pageId = await api.create('/v1/status-pages', { title: 'Status', slug: 'status' });
  const component = { type: 'monitor', name: 'Shop', monitor_id: monitorId };
  return {
    monitorId,
    pageId,
    componentId: await api.create(`/v1/status-pages/${pageId}/components`, component),
  };
}
