import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardPage } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { type Listed, listQuery, nameSearch, pager } from '../resources/lists.ts';
import { FORM_STYLE } from '../resources/style.ts';
import { type ChannelView, channelName, channelState } from './channel-state.ts';
import { nameOfKind } from './forms.ts';

/** All channels with their state. */
export const channelList: DashboardPage = {
  method: 'GET',
  path: '/channels',
  scope: 'read',
  navigation: { label: 'Channels', group: 'Tell' },
  async handle({ api, query, can }) {
    const wanted = listQuery(query);
    const list = await api.read<Listed<ChannelView>>(`/v1/notifications?${wanted.search}`);
    const add = can('write')
      ? html`<a class="button button-main" href="/channels/new">New channel</a>`
      : NO_HTML;
    return {
      title: 'Channels',
      styles: [FORM_STYLE],
      body: html`${pageHead('Channels', { actions: add, lead: 'Where alerts are sent.' })}
${list.total === 0 && wanted.name === '' ? nothing(add) : html`${nameSearch('/channels', wanted, 'Search by name')}${table(list)}${pager('/channels', wanted, list)}`}`,
    };
  },
};

function nothing(add: Html): Html {
  return html`<div class="empty"><p>Nobody is told when a monitor fails, because there is no channel yet. A channel is a mailbox, a chat, a phone or an address of your own.</p>${add}</div>`;
}

function table({ data }: Listed<ChannelView>): Html {
  if (data.length === 0) return html`<p class="empty">No channel has this name.</p>`;
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Channels"><table>
<thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col">Kind</th><th scope="col" class="number">Monitors</th></tr></thead>
<tbody>${data.map(row)}</tbody></table></div>`;
}

function row(channel: ChannelView): Html {
  const { id, state_reason: reason, provider_type: type, monitor_ids: monitors } = channel;
  const kind = CHANNEL_KINDS.find((each) => each === type);
  return html`<tr><th scope="row"><a href="/channels/${id}">${channelName(channel)}</a></th>
<td>${channelState(channel)}${reason === null ? NO_HTML : html`<p class="hint">${reason}</p>`}</td>
<td>${kind === undefined ? type : nameOfKind(kind)}</td>
<td class="number">${monitors.length}</td></tr>`;
}
