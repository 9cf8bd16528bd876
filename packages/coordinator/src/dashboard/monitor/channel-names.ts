import { type ChannelView, channelName } from '../channels/channel-state.ts';
import type { PageApi } from '../page.ts';
import type { ChannelNames } from './deliveries-list.ts';

/** The names of these channels. Those that are removed have none. */
export async function channelNames(api: PageApi, ids: Iterable<string>): Promise<ChannelNames> {
  const named = [...new Set(ids)].map(async (id): Promise<[string, string][]> => {
    const { status, body } = await api.call('GET', `/v1/notifications/${id}`);
    if (status !== 200) return [];
    return [[id, channelName(body as ChannelView)]];
  });
  return new Map((await Promise.all(named)).flat());
}
