import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { DeliveryView } from '../../api/routes/deliveries.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import { channelName } from '../channels/channel-state.ts';
import { attemptsTable, deliveryLabel } from '../deliveries/shown.ts';
import type { PageApi } from '../page.ts';
import { counted } from './shown.ts';

/** Names of channels by their ids. */
export type ChannelNames = ReadonlyMap<string, string>;

export const ALERT_WORDS: Readonly<Record<AlertStatus, string>> = {
  error: 'Alert: down',
  degraded: 'Alert: degraded',
  recovered: 'Alert: recovered',
};

/** Alerts about a monitor, each with every attempt to deliver it. */
export function deliveriesList(deliveries: readonly DeliveryView[], channels: ChannelNames): Html {
  return html`<ol class="plain-list log">${deliveries.map(
    (delivery) => html`<li><details>
<summary id="delivery-${delivery.id}"><span class="log-line"><span class="log-time">${instant(delivery.created_at)}</span><span class="log-state">${deliveryLabel(delivery.state)}</span><span class="log-place">${channels.get(delivery.notification_id) ?? `Channel ${delivery.notification_id}, removed`}</span><span class="log-text">${wordsOf(delivery)}</span></span></summary>
${details(delivery, channels)}
</details></li>`,
  )}</ol>`;
}

function wordsOf({ alert, attempts, last_error: lastError, state }: DeliveryView): string {
  const problem = state === 'delivered' || lastError === null ? '' : `: ${lastError}`;
  return `${whatOf(alert)}, ${attempts.length === 0 ? 'not tried' : counted(attempts.length, 'attempt')}${problem}`;
}

function whatOf(alert: DeliveryView['alert']): string {
  if (alert === null) return 'An alert that this version cannot read';
  if (alert.closure !== undefined) return `Closed: ${alert.closure.replaceAll('-', ' ')}`;
  return ALERT_WORDS[alert.status];
}

function details(delivery: DeliveryView, channels: ChannelNames): Html {
  const { next_attempt_at: next, notification_id: channel, webhook_id: uid } = delivery;
  return html`<div class="log-more stack">
${attemptsTable(delivery)}
<dl class="facts small">
${next === null ? NO_HTML : html`<dt>Next attempt</dt><dd>${instant(next)}</dd>`}
${channels.has(channel) ? html`<dt>Channel</dt><dd><a href="${`/channels/${channel}`}">${channels.get(channel)}</a></dd>` : NO_HTML}
<dt>Id</dt><dd><code>${uid}</code></dd>
</dl>
</div>`;
}

/** The names of these channels. Those that are removed have none. */
export async function channelNames(api: PageApi, ids: Iterable<string>): Promise<ChannelNames> {
  const named = [...new Set(ids)].map(async (id): Promise<[string, string][]> => {
    const called = await api.call(CHANNEL.read, { id });
    return called.problem === null ? [[id, channelName(called.body)]] : [];
  });
  return new Map((await Promise.all(named)).flat());
}
