import type { PageApi } from '../page.ts';
import type { ChannelNames } from './deliveries-list.ts';

/** The names of these channels. Those that are removed have none. */
export async function channelNames(api: PageApi, ids: Iterable<string>): Promise<ChannelNames> {
  const named = [...new Set(ids)].map(async (id): Promise<[string, string][]> => {
    const { status, body } = await api.call('GET', `/v1/notifications/${id}`);
    if (status !== 200) return [];
    const { name, provider_type: kind } = body as { name: string | null; provider_type: string };
    return [[id, name ?? `${kind} ${id}`]];
  });
  return new Map((await Promise.all(named)).flat());
}
