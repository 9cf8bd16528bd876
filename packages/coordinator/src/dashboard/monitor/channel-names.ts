import { CHANNEL } from '../../api/routes/notifications.ts';
import { channelName } from '../channels/channel-state.ts';
import type { PageApi } from '../page.ts';
import type { ChannelNames } from './deliveries-list.ts';

/** The names of these channels. Those that are removed have none. */
export async function channelNames(api: PageApi, ids: Iterable<string>): Promise<ChannelNames> {
  const named = [...new Set(ids)].map(async (id): Promise<[string, string][]> => {
    const called = await api.call(CHANNEL.read, { id });
    return called.problem === null ? [[id, channelName(called.body)]] : [];
  });
  return new Map((await Promise.all(named)).flat());
}
