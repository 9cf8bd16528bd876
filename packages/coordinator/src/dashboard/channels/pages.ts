import { CHANNEL_KINDS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import { isId } from '@svc/shared/ids.ts';
import { idOf } from '../../api/endpoint.ts';
import type { Problem } from '../../api/problem.ts';
import { channelDeliveries, retryChannel, retryDelivery, testChannel } from '../../api/routes/deliveries.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../page.ts';
import { type Editor, openExisting, openNew, sent } from '../resources/editor.ts';
import { kindChoice } from '../resources/form-pages.ts';
import { searchedList } from '../resources/lists.ts';
import { type Removal, removalPages } from '../resources/removal.ts';
import { CHANNEL_FORM, type ChannelView, channelName, channelState, nameOfKind } from './channel-state.ts';
import { channelPage } from './page.ts';

/** All channels with their state. */
const channelList: DashboardPage = {
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

/** The pages on which channels are made and changed. */
const channelForms: readonly DashboardPage[] = [
  {
    method: 'GET',
    path: '/channels/new',
    scope: 'write',
    async handle(request) {
      const kind = kindIn(request);
      return kind === null ? chooseKind() : openNew(request, editorOf(kind));
    },
  },
  {
    method: 'POST',
    path: '/channels/new',
    scope: 'write',
    async handle(request) {
      const kind = kindIn(request);
      return kind === null ? chooseKind() : sent(request, editorOf(kind), null);
    },
  },
  {
    method: 'GET',
    path: '/channels/{id}/edit',
    scope: 'write',
    handle: (request) => openExisting(request, editorOf(null), request.ids.id ?? 0),
  },
  {
    method: 'POST',
    path: '/channels/{id}/edit',
    scope: 'write',
    handle: (request) => sent(request, editorOf(null), request.ids.id ?? 0),
  },
];

function kindIn({ query }: DashboardRequest): ChannelKind | null {
  return CHANNEL_KINDS.find((kind) => kind === query.get('type')) ?? null;
}

/** @param kind of a new channel; null: the form is of an existing one */
function editorOf(kind: ChannelKind | null): Editor {
  return {
    form: CHANNEL_FORM,
    objects: CHANNEL,
    noun: 'channel',
    list: { href: '/channels', label: 'Channels' },
    nameOf: (channel) => channelName(channel as unknown as ChannelView),
    newTitle: kind === null ? 'New channel' : `New channel: ${nameOfKind(kind)}`,
    initial: { provider_type: kind, ...(kind === null ? {} : { [kind]: {} }) },
    newPath: `/channels/new?type=${kind ?? 'email'}`,
    editPath: (id) => `/channels/${id}/edit`,
    after: (id) => (id === null ? '/channels' : `/channels/${id}`),
  };
}

function chooseKind() {
  return kindChoice({
    title: 'New channel',
    question: 'Where are alerts to be sent?',
    kinds: CHANNEL_KINDS.map((kind) => ({
      href: `/channels/new?type=${kind}`,
      label: nameOfKind(kind),
      help: '',
      name: kind,
    })),
    cancel: '/channels',
  });
}

/** What is done with a channel: a test, replays, its removal. */
const channelActions: readonly DashboardPage[] = [
  { method: 'POST', path: '/channels/{id}/test', scope: 'write', handle: sendTest },
  { method: 'POST', path: '/channels/{id}/retry', scope: 'write', handle: replay },
  ...removalPages('/channels/{id}/delete', removalOf),
];

/** Sends a test. The ledger shows the attempt, which is opened there. */
async function sendTest(request: DashboardRequest): Promise<DashboardAnswer> {
  const id = idOf(request);
  const tested = await request.api.call(testChannel, { id });
  if (tested.problem !== null) {
    if (tested.status === 404) throw tested.problem;
    return { redirect: `/channels/${id}`, notice: `The test was not sent: ${tested.problem.message}` };
  }
  const { delivered, delivery_id: delivery, error } = tested.body;
  return {
    redirect: `/channels/${id}?delivery=${delivery}`,
    notice: delivered
      ? 'The test was delivered.'
      : `The test was not delivered: ${error ?? 'no reason is known'}`,
  };
}

/** Queues one delivery again, or all that were given up. */
async function replay(request: DashboardRequest): Promise<DashboardAnswer> {
  const { api, form } = request;
  const id = idOf(request);
  const delivery = form.text('delivery');
  const nothing = ({ message }: Problem) => ({
    redirect: `/channels/${id}`,
    notice: `Nothing was sent again: ${message}`,
  });
  if (isId(delivery)) {
    const { problem } = await api.call(retryDelivery, { id: delivery });
    if (problem !== null) return nothing(problem);
    return { redirect: `/channels/${id}?delivery=${delivery}`, notice: 'The alert is sent again.' };
  }
  const replayed = await api.call(retryChannel, { id });
  if (replayed.problem !== null) return nothing(replayed.problem);
  const { retried } = replayed.body;
  const said = retried === 1 ? '1 alert is sent again.' : `${retried} alerts are sent again.`;
  return { redirect: `/channels/${id}`, notice: retried === 0 ? 'No alert was given up.' : said };
}

function removalOf(request: DashboardRequest): Removal<ChannelView> {
  const id = idOf(request);
  return {
    objects: CHANNEL,
    ids: { id },
    kindOf: () => 'svc_notification',
    noun: 'channel',
    path: `/channels/${id}/delete`,
    after: '/channels',
    cancel: `/channels/${id}`,
    nameOf: channelName,
    async hanging({ api }, { monitor_ids: monitors }) {
      const pending = await api.read(channelDeliveries, { id, state: 'pending', limit: 100 });
      const count = pending.data.length;
      const waiting = pending.next_cursor === null ? String(count) : `More than ${count}`;
      return html`<p>${monitors.length === 0 ? 'No monitor is linked to it.' : `${monitors.length} ${monitors.length === 1 ? 'monitor is' : 'monitors are'} linked to it, and alert it no more.`}
Its ledger is removed with it. ${count === 0 ? 'No alert waits to be sent.' : `${waiting} alerts wait to be sent, and are dropped.`}</p>`;
    },
  };
}

/** Everything about channels. */
export const channelPages: readonly DashboardPage[] = [
  channelList,
  ...channelForms,
  channelPage,
  ...channelActions,
];
