import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { DeliveryView } from '../../api/delivery-answers.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import { latencyText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import { counted } from './shown.ts';

/** Names of channels by their ids. */
export type ChannelNames = ReadonlyMap<string, string>;

export const ALERT_WORDS: Readonly<Record<AlertStatus, string>> = {
  error: 'Alert: down',
  degraded: 'Alert: degraded',
  recovered: 'Alert: recovered',
};

const STATES: Readonly<Record<DeliveryView['state'], { readonly state: State; readonly word: string }>> = {
  pending: { state: 'partial_outage', word: 'Waiting' },
  delivered: { state: 'operational', word: 'Delivered' },
  dead: { state: 'down', word: 'Given up' },
  superseded: { state: 'unknown', word: 'Left out' },
};

/** Alerts about a monitor, each with every attempt to deliver it. */
export function deliveriesList(deliveries: readonly DeliveryView[], channels: ChannelNames): Html {
  return html`<ol class="plain-list log">${deliveries.map(
    (delivery) => html`<li><details>
<summary><span class="log-line"><span class="log-time">${instant(delivery.created_at)}</span><span class="log-state">${stateLabel(STATES[delivery.state].state, STATES[delivery.state].word)}</span><span class="log-place">${channels.get(delivery.notification_id) ?? `Channel ${delivery.notification_id}, removed`}</span><span class="log-text">${wordsOf(delivery)}</span></span></summary>
${details(delivery, channels)}
</details></li>`,
  )}</ol>`;
}

function wordsOf({ alert, attempts, last_error: lastError, state }: DeliveryView): string {
  const what = alert === null ? 'An alert of another version of svc' : ALERT_WORDS[alert.status];
  const problem = state === 'delivered' || lastError === null ? '' : `: ${lastError}`;
  return `${what}, ${attempts.length === 0 ? 'not tried' : counted(attempts.length, 'attempt')}${problem}`;
}

function details(delivery: DeliveryView, channels: ChannelNames): Html {
  const { attempts, next_attempt_at: next, notification_id: channel, webhook_id: uid } = delivery;
  return html`<div class="log-more stack">
${attempts.length === 0 ? NO_HTML : attemptsTable(attempts)}
<dl class="facts small">
${next === null ? NO_HTML : html`<dt>Next attempt</dt><dd>${instant(next)}</dd>`}
${channels.has(channel) ? html`<dt>Channel</dt><dd><a href="${`/channels/${channel}`}">${channels.get(channel)}</a></dd>` : NO_HTML}
<dt>Id</dt><dd><code>${uid}</code></dd>
</dl>
</div>`;
}

const ATTEMPT_WORDS: Readonly<Record<string, string>> = {
  delivered: 'Delivered',
  retry: 'Failed, tried again',
  'permanent-message': 'Refused for good',
  'permanent-channel': 'The address is dead',
  'not-sent': 'Not sent',
};

function attemptsTable(attempts: DeliveryView['attempts']): Html {
  return html`<div class="table-frame" role="group" tabindex="0" aria-label="Attempts to deliver"><table class="small">
<thead><tr><th scope="col" class="number">No.</th><th scope="col">At</th><th scope="col" class="number">Took</th><th scope="col">Outcome</th><th scope="col" class="number">Status code</th><th scope="col">Answer</th></tr></thead>
<tbody>${attempts.map(
    ({ number, at, duration, outcome, status_code: status, error, reply }) =>
      html`<tr><th scope="row" class="number">${number}</th><td>${instant(at)}</td><td class="number">${latencyText(duration)}</td><td>${ATTEMPT_WORDS[outcome] ?? outcome}</td><td class="number">${status ?? '–'}</td><td>${error ?? reply ?? ''}</td></tr>`,
  )}</tbody></table></div>`;
}
