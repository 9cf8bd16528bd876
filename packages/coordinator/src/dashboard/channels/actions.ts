import { isId } from '@svc/shared/ids.ts';
import { html } from '../../web/html.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../page.ts';
import { problemIn } from '../page.ts';
import { problemOfAnswer } from '../resources/read-whole.ts';
import { type Removal, removalPages } from '../resources/removal.ts';
import { type ChannelView, channelName } from './channel-state.ts';

/** What is done with a channel: a test, replays, its removal. */
export const channelActions: readonly DashboardPage[] = [
  { method: 'POST', path: '/channels/{id}/test', scope: 'write', handle: sendTest },
  { method: 'POST', path: '/channels/{id}/retry', scope: 'write', handle: replay },
  ...removalPages('/channels/{id}/delete', removalOf),
];

type Tested = { readonly delivered: boolean; readonly delivery_id: string; readonly error: string | null };

/** Sends a test. The ledger shows the attempt, which is opened there. */
async function sendTest({ api, ids }: DashboardRequest): Promise<DashboardAnswer> {
  const id = ids.id ?? 0;
  const answer = await api.call('POST', `/v1/notifications/${id}/test`);
  const problem = problemIn(answer);
  if (problem !== null) {
    if (answer.status === 404) throw problemOfAnswer(problem);
    return { redirect: `/channels/${id}`, notice: `The test was not sent: ${problem.detail}` };
  }
  const { delivered, delivery_id: delivery, error } = answer.body as Tested;
  return {
    redirect: `/channels/${id}?delivery=${delivery}`,
    notice: delivered
      ? 'The test was delivered.'
      : `The test was not delivered: ${error ?? 'no reason is known'}`,
  };
}

/** Queues one delivery again, or all that were given up. */
async function replay({ api, ids, form }: DashboardRequest): Promise<DashboardAnswer> {
  const id = ids.id ?? 0;
  const delivery = form.text('delivery');
  const isOne = isId(delivery);
  const path = isOne ? `/v1/deliveries/${delivery}/retry` : `/v1/notifications/${id}/retry`;
  const answer = await api.call('POST', path);
  const problem = problemIn(answer);
  if (problem !== null) {
    return { redirect: `/channels/${id}`, notice: `Nothing was sent again: ${problem.detail}` };
  }
  if (isOne) return { redirect: `/channels/${id}?delivery=${delivery}`, notice: 'The alert is sent again.' };
  const { retried } = answer.body as { retried: number };
  const said = retried === 1 ? '1 alert is sent again.' : `${retried} alerts are sent again.`;
  return { redirect: `/channels/${id}`, notice: retried === 0 ? 'No alert was given up.' : said };
}

function removalOf({ ids, api }: DashboardRequest): Removal {
  const id = ids.id ?? 0;
  return {
    object: `/v1/notifications/${id}`,
    kindOf: () => 'svc_notification',
    noun: 'channel',
    path: `/channels/${id}/delete`,
    after: '/channels',
    cancel: `/channels/${id}`,
    nameOf: (channel) => channelName(channel as unknown as ChannelView),
    async hanging(_request, channel) {
      const { monitor_ids: monitors } = channel as unknown as ChannelView;
      const pending = await api.read<{ data: readonly unknown[]; next_cursor: string | null }>(
        `/v1/notifications/${id}/deliveries?state=pending&limit=100`,
      );
      const count = pending.data.length;
      const waiting = pending.next_cursor === null ? String(count) : `More than ${count}`;
      return html`<p>${monitors.length === 0 ? 'No monitor is linked to it.' : `${monitors.length} ${monitors.length === 1 ? 'monitor is' : 'monitors are'} linked to it, and alert it no more.`}
Its ledger is removed with it. ${count === 0 ? 'No alert waits to be sent.' : `${waiting} alerts wait to be sent, and are dropped.`}</p>`;
    },
  };
}
