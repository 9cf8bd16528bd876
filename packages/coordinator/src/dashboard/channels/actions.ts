import { isId } from '@svc/shared/ids.ts';
import { idOf } from '../../api/endpoint.ts';
import type { Problem } from '../../api/problem.ts';
import { channelDeliveries, retryChannel, retryDelivery, testChannel } from '../../api/routes/deliveries.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { html } from '../../web/html.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../page.ts';
import { type Removal, removalPages } from '../resources/removal.ts';
import { type ChannelView, channelName } from './channel-state.ts';

/** What is done with a channel: a test, replays, its removal. */
export const channelActions: readonly DashboardPage[] = [
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
