import type { DeliveryView } from '../../api/routes/deliveries.ts';
import { DELIVERY_STATES, type DeliveryState } from '../../store/schema.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, instant } from '../../web/times.ts';
import { attemptsTable } from '../deliveries/attempts.ts';
import { deliveryLabel, deliveryWord } from '../deliveries/state.ts';

/** What can be done with the deliveries of a ledger. */
type LedgerOptions = {
  /** Path of the channel's page. */
  readonly path: string;
  /** The hidden field of the session; null: the visitor may not replay. */
  readonly formToken: Html | null;
  /** Id of the delivery whose attempts are open; null: none. */
  readonly open: string | null;
  /** Epoch ms. */
  readonly now: number;
};

/** The alerts of a channel with their attempts, the newest first. */
export function ledger(deliveries: readonly DeliveryView[], options: LedgerOptions): Html {
  return html`<ol class="plain-list ledger">${deliveries.map((each) => entry(each, options))}</ol>`;
}

/** Links to the deliveries of one state. @param chosen null: all states */
export function stateFilter(path: string, chosen: DeliveryState | null): Html {
  const links = [null, ...DELIVERY_STATES].map((state) => {
    const href = state === null ? path : `${path}?state=${state}`;
    const label = state === null ? 'All' : deliveryWord(state);
    return html`<li><a href="${href}"${state === chosen ? html` aria-current="true"` : NO_HTML}>${label}</a></li>`;
  });
  return html`<nav aria-label="Filter by state"><ul class="plain-list row filter">${links}</ul></nav>`;
}

function entry(delivery: DeliveryView, options: LedgerOptions): Html {
  const { id, state, created_at: at, last_error: error, attempts, next_attempt_at: next } = delivery;
  const isOpen = options.open === id;
  return html`<li id="delivery-${id}"><div class="row row-apart"><span>${deliveryLabel(state)} ${subject(delivery)}</span>
<span class="soft small">${age(at, options.now)}</span></div>
${error === null || state === 'delivered' ? NO_HTML : html`<p class="field-error">${error}</p>`}
${next === null ? NO_HTML : html`<p class="hint">The next attempt is at ${instant(next)}.</p>`}
<details${isOpen ? html` open` : NO_HTML}><summary>${countOf(attempts.length)}</summary>${attemptsTable(delivery)}</details>
${isReplayable(delivery) && options.formToken !== null ? replay(delivery, options.path, options.formToken) : NO_HTML}</li>`;
}

/** Whether a delivery can be queued again: a test, and a message of svc about itself, cannot. */
export function isReplayable({ state, monitor_id: monitorId }: DeliveryView): boolean {
  return state === 'dead' && monitorId !== '0';
}

/** What the alert says, in a few words. */
function subject({ alert, monitor_id: monitorId }: DeliveryView): Html {
  if (alert === null) return html`an alert that this version cannot read`;
  if (alert.notice !== undefined) return html`${alert.notice.title}`;
  if (alert.test === true) return html`test alert`;
  const { name } = alert.monitor;
  const what = alert.closure === undefined ? alert.status : `closed: ${alert.closure.replaceAll('-', ' ')}`;
  return html`<a href="/monitors/${monitorId}">${name}</a>: ${what}`;
}

function countOf(count: number): string {
  if (count === 0) return 'No attempt yet';
  return count === 1 ? '1 attempt' : `${count} attempts`;
}

function replay({ id }: DeliveryView, path: string, formToken: Html): Html {
  return html`<form method="post" action="${path}/retry">${formToken}<input type="hidden" name="delivery" value="${id}">
<button aria-label="Send again: delivery ${id}">Send again</button></form>`;
}
