import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { DeliveryView } from '../api/routes/deliveries.ts';
import { CHANNEL } from '../api/routes/notifications.ts';
import type { DeliveryState } from '../store/schema.ts';
import { type State, stateLabel } from '../web/design/states.ts';
import { latencyText } from '../web/figures.ts';
import { type Html, html, NO_HTML } from '../web/html.ts';
import { instant } from '../web/times.ts';
import { channelName } from './channels/channel-state.ts';
import type { PageApi } from './dashboard-page.ts';
import { counted } from './page-parts.ts';

/** Names of channels by id. */
export type ChannelNames = ReadonlyMap<string, string>;

export const ALERT_WORDS: Readonly<Record<AlertStatus, string>> = {
  error: 'Alert: down',
  degraded: 'Alert: degraded',
  recovered: 'Alert: recovered',
};

const REMINDER_WORDS: Readonly<Record<AlertStatus, string>> = {
  error: 'Reminder: still down',
  degraded: 'Reminder: still degraded',
  recovered: 'Reminder',
};

/** The alerts about a monitor, each with its attempts. */
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
  return `${alertText(alert)}, ${attempts.length === 0 ? 'not tried' : counted(attempts.length, 'attempt')}${problem}`;
}

/** What was sent, in a few words: `Alert: down`. Only a notice names its monitor. */
export function alertText(alert: DeliveryView['alert']): string {
  if (alert === null) return 'An alert that this version cannot read';
  // The status of a notice is not that of the monitor.
  if (alert.notice !== undefined) return `Notice: ${alert.notice.title}`;
  if (alert.reminder !== undefined) return REMINDER_WORDS[alert.status];
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

/** Reads the names of channels. Removed channels are left out. */
export async function channelNames(api: PageApi, ids: Iterable<string>): Promise<ChannelNames> {
  const named = [...new Set(ids)].map(async (id): Promise<[string, string][]> => {
    const called = await api.call(CHANNEL.read, { id });
    return called.problem === null ? [[id, channelName(called.body)]] : [];
  });
  return new Map((await Promise.all(named)).flat());
}

/** Shape and word of each state of a delivery. */
const SHOWN: Readonly<Record<DeliveryState, { readonly state: State; readonly word: string }>> = {
  pending: { state: 'maintenance', word: 'Pending' },
  delivered: { state: 'operational', word: 'Delivered' },
  dead: { state: 'down', word: 'Given up' },
  superseded: { state: 'unknown', word: 'Left out' },
};

export function deliveryWord(state: DeliveryState): string {
  return SHOWN[state].word;
}

/** Shape, word and colour of a delivery's state. */
export function deliveryLabel(state: DeliveryState): Html {
  return stateLabel(SHOWN[state].state, SHOWN[state].word);
}

type SendAttempt = DeliveryView['attempts'][number];

/**
 * Words for the outcomes of an attempt, except `retry`.
 * A newer version of svc may have stored other outcomes.
 */
const OUTCOMES: Readonly<Record<string, string>> = {
  delivered: 'Delivered',
  'permanent-message': 'Refused for good',
  'permanent-channel': 'The address is dead',
  'not-sent': 'Not sent',
};

/** A table of the attempts to deliver an alert. */
export function attemptsTable({ id, attempts }: Pick<DeliveryView, 'id' | 'attempts'>): Html {
  if (attempts.length === 0) return html`<p class="hint">Nothing was sent.</p>`;
  return html`<div class="table-frame" role="group" tabindex="0" aria-label="Attempts of delivery ${id}"><table class="small">
<thead><tr><th scope="col" class="number">No.</th><th scope="col">At</th><th scope="col">Outcome</th><th scope="col" class="number">Status code</th><th scope="col" class="number">Took</th><th scope="col" class="wide">Answer</th></tr></thead>
<tbody>${attempts.map(attemptRow)}</tbody></table></div>`;
}

function attemptRow(attempt: SendAttempt): Html {
  const { number, at, duration, reason, status_code: status, error, reply } = attempt;
  const why = reason === null ? NO_HTML : html` <span class="soft">(${reason.replaceAll('-', ' ')})</span>`;
  return html`<tr><th scope="row" class="number">${number}</th><td>${instant(at)}</td><td>${outcomeOf(attempt)}${why}</td><td class="number">${status ?? '–'}</td><td class="number">${latencyText(duration)}</td><td>${error ?? reply ?? '–'}</td></tr>`;
}

function outcomeOf({ outcome, next_attempt_at: next }: SendAttempt): string {
  if (outcome === 'retry') return next === null ? 'Failed' : 'Failed, tried again';
  return OUTCOMES[outcome] ?? outcome;
}
