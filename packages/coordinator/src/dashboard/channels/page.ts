import { idOf } from '../../api/endpoint.ts';
import type { Called } from '../../api/in-process.ts';
import { channelDeliveries, type DeliveryView } from '../../api/routes/deliveries.ts';
import { MONITOR } from '../../api/routes/monitors.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { DELIVERY_STATES, type DeliveryState } from '../../store/schema.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, instant } from '../../web/times.ts';
import { FORM_STYLE } from '../assets.ts';
import { attemptsTable, deliveryLabel, deliveryWord } from '../deliveries/shown.ts';
import type { DashboardPage, DashboardRequest } from '../page.ts';
import { pageHead } from '../page-parts.ts';
import { declaredIn, declaredNotice, facts } from '../resources/declared.ts';
import { CHANNEL_FORM, type ChannelView, channelName, channelState } from './channel-state.ts';

/** Monitors of a channel that its page names; the count tells how many there are. */
const MONITORS_NAMED = 20;

/** A channel: whether it delivers, its settings, its monitors, and its ledger. */
export const channelPage: DashboardPage = {
  method: 'GET',
  path: '/channels/{id}',
  scope: 'read',
  async handle(request) {
    const id = idOf(request);
    const called = await request.api.call(CHANNEL.read, { id });
    if (called.problem !== null) throw called.problem;
    const channel = called.body;
    return {
      title: channelName(channel),
      styles: [FORM_STYLE],
      body: html`${head(request, channel)}
${standing(channel)}
${declared(called.headers)}
<section class="stack" aria-labelledby="settings"><h2 id="settings">Settings</h2>
${facts(CHANNEL_FORM, channel, ['monitor_ids', 'name'])}</section>
${await monitors(request, channel)}
${await ledgerSection(request, id)}`,
    };
  },
};

function head({ can, formToken }: DashboardRequest, channel: ChannelView): Html {
  const { id } = channel;
  const actions = html`<form method="post" action="/channels/${id}/test">${formToken}<button>Send a test</button></form>
<a class="button" href="/channels/${id}/edit">Edit</a>
<a class="button button-danger" href="/channels/${id}/delete">Remove</a>`;
  return pageHead(channelName(channel), {
    above: [{ href: '/channels', label: 'Channels' }],
    ...(can('write') ? { actions } : {}),
  });
}

function standing(channel: ChannelView): Html {
  const { state_reason: reason, stopped_at: stopped } = channel;
  const more =
    stopped === null
      ? NO_HTML
      : html`<p class="hint">Its alerts are given up at once. Change its settings, or send a test that arrives, to start it again.</p>`;
  return html`<div>${channelState(channel)}${reason === null ? NO_HTML : html` <span>${reason}</span>`}${more}</div>`;
}

function declared(headers: Called['headers']): Html {
  const found = declaredIn(headers);
  return found === null ? NO_HTML : declaredNotice('channel', 'svc_notification', found);
}

async function monitors({ api }: DashboardRequest, { monitor_ids: ids }: ChannelView): Promise<Html> {
  const named: Html[] = [];
  for (const id of ids.slice(0, MONITORS_NAMED)) {
    const called = await api.call(MONITOR.read, { id });
    if (called.problem === null) named.push(html`<li><a href="/monitors/${id}">${called.body.name}</a></li>`);
  }
  const more = ids.length - Math.min(ids.length, MONITORS_NAMED);
  const list =
    ids.length === 0
      ? html`<p class="soft">It receives the alerts of no monitor. Choose some in its settings.</p>`
      : html`<ul class="plain-list columns">${named}${more > 0 ? html`<li class="soft">and ${more} more</li>` : NO_HTML}</ul>`;
  return html`<section class="stack" aria-labelledby="monitors"><h2 id="monitors">Monitors</h2>${list}</section>`;
}

async function ledgerSection(request: DashboardRequest, id: number): Promise<Html> {
  const { api, query, can, now, formToken } = request;
  const state = DELIVERY_STATES.find((each) => each === query.get('state')) ?? null;
  const { data, next_cursor: next } = await api.read(channelDeliveries, {
    id,
    limit: 20,
    state,
    cursor: query.get('cursor'),
  });
  const path = `/channels/${id}`;
  const token = can('write') ? formToken : null;
  const options = { path, formToken: token, open: query.get('delivery'), now };
  const older = new URLSearchParams({ ...(state === null ? {} : { state }), cursor: next ?? '' });
  return html`<section class="stack" aria-labelledby="ledger"><div class="row row-apart"><h2 id="ledger">Alerts</h2>${
    token === null || !data.some(isReplayable) ? NO_HTML : replayAll(path, token)
  }</div>
${stateFilter(path, state)}
${data.length === 0 ? html`<p class="soft">${state === null ? 'Nothing was sent yet. A test shows whether alerts arrive.' : 'No alert is in this state.'}</p>` : ledger(data, options)}
${next === null ? NO_HTML : html`<p><a href="${path}?${older.toString()}" rel="next">Older alerts</a></p>`}</section>`;
}

function replayAll(path: string, formToken: Html): Html {
  return html`<form method="post" action="${path}/retry">${formToken}<button>Send all that were given up again</button></form>`;
}

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
function ledger(deliveries: readonly DeliveryView[], options: LedgerOptions): Html {
  return html`<ol class="plain-list ledger">${deliveries.map((each) => entry(each, options))}</ol>`;
}

/** Links to the deliveries of one state. @param chosen null: all states */
function stateFilter(path: string, chosen: DeliveryState | null): Html {
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
function isReplayable({ state, monitor_id: monitorId }: DeliveryView): boolean {
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
