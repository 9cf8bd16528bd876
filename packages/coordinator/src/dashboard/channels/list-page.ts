import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardPage } from '../page.ts';
import { searchedList } from '../resources/lists.ts';
import { type ChannelView, channelName, channelState } from './channel-state.ts';
import { nameOfKind } from './forms.ts';

/** All channels with their state. */
export const channelList: DashboardPage = {
  method: 'GET',
  path: '/channels',
  scope: 'read',
  navigation: { label: 'Channels', group: 'Tell' },
  handle: (request) =>
    searchedList(request, {
      title: 'Channels',
      lead: 'Where alerts are sent.',
      path: '/channels',
      list: CHANNEL.list,
      search: 'Search by name',
      add: 'New channel',
      none: 'Nobody is told when a monitor fails, because there is no channel yet. A channel is a mailbox, a chat, a phone or an address of your own.',
      unmatched: 'No channel has this name.',
      head: html`<th scope="col">Name</th><th scope="col">State</th><th scope="col">Kind</th><th scope="col" class="number">Monitors</th>`,
      row,
    }),
};

function row(channel: ChannelView): Html {
  const { id, state_reason: reason, provider_type: type, monitor_ids: monitors } = channel;
  const kind = CHANNEL_KINDS.find((each) => each === type);
  return html`<tr><th scope="row"><a href="/channels/${id}">${channelName(channel)}</a></th>
<td>${channelState(channel)}${reason === null ? NO_HTML : html`<p class="hint">${reason}</p>`}</td>
<td>${kind === undefined ? type : nameOfKind(kind)}</td>
<td class="number">${monitors.length}</td></tr>`;
}
