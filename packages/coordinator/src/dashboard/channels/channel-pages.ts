import { CHANNEL_KINDS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import { isId } from '@svc/shared/ids.ts';
import { idOf } from '../../api/endpoint.ts';
import type { Called } from '../../api/in-process.ts';
import type { Problem } from '../../api/problem.ts';
import {
  channelDeliveries,
  type DeliveryView,
  retryChannel,
  retryDelivery,
  testChannel,
} from '../../api/routes/deliveries.ts';
import { MONITOR } from '../../api/routes/monitors.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { DELIVERY_STATES, type DeliveryState } from '../../store/schema.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, instant } from '../../web/times.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { alertText, attemptsTable, deliveryLabel, deliveryWord } from '../deliveries-list.ts';
import { pageHead } from '../page-parts.ts';
import { declaredIn, declaredNotice, facts } from '../resources/declared.ts';
import type { Editor } from '../resources/editor.ts';
import { editPages, kindChoice, newPagesByKind } from '../resources/form-pages.ts';
import { type Removal, removalPages } from '../resources/removal.ts';
import { searchedList } from '../resources/searched-list.ts';
import {
  CHANNEL_FORM,
  type ChannelView,
  channelName,
  channelState,
  nameOfKind,
  servicesOf,
} from './channel-state.ts';

/** The page that lists the channels with their states. */
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
      none: 'There is no channel yet, so no alert is sent when a monitor fails. A channel is a mailbox, a chat, a phone or a URL of your own.',
      unmatched: 'No channel has this name.',
      head: html`<th scope="col">Name</th><th scope="col">State</th><th scope="col">Kind</th><th scope="col" class="number">Monitors</th>`,
      row: channelRow,
    }),
};

function channelRow(channel: ChannelView): Html {
  const { id, state_reason: reason, provider_type: type, monitor_ids: monitors } = channel;
  const kind = CHANNEL_KINDS.find((each) => each === type);
  return html`<tr><th scope="row" class="text-cell"><a href="/channels/${id}">${channelName(channel)}</a></th>
<td class="text-cell">${channelState(channel)}${reason === null ? NO_HTML : html`<p class="hint">${reason}</p>`}</td>
<td class="text-cell">${kind === undefined ? type : html`${nameOfKind(kind)}<p class="hint">${servicesOf(kind)}</p>`}</td>
<td class="number">${monitors.length}</td></tr>`;
}

/** The forms in which channels are created and changed. */
const channelForms: readonly DashboardPage[] = [
  ...newPagesByKind('/channels/new', editorOfKind, chooseKind),
  ...editPages('/channels/{id}/edit', 'id', (request) => editorOf(null, monitorIn(request))),
];

/** The form of a new channel whose kind the URL names; null: the URL names no kind. */
function editorOfKind(request: DashboardRequest): Editor | null {
  const kind = kindIn(request);
  return kind === null ? null : editorOf(kind, monitorIn(request));
}

function kindIn({ query }: DashboardRequest): ChannelKind | null {
  return CHANNEL_KINDS.find((kind) => kind === query.get('type')) ?? null;
}

/** Id of the monitor that the form links to the channel; null: the URL names none. */
function monitorIn({ query }: DashboardRequest): string | null {
  const id = query.get('monitor') ?? '';
  return isId(id) ? id : null;
}

/**
 * The form of a channel.
 *
 * @param kind the kind of a new channel; null: the channel exists already
 * @param monitor id of a monitor that the form links to the channel from the beginning; null: none
 */
function editorOf(kind: ChannelKind | null, monitor: string | null): Editor {
  return {
    form: CHANNEL_FORM,
    objects: CHANNEL,
    noun: 'channel',
    list: { href: '/channels', label: 'Channels' },
    nameOf: channelName,
    newTitle: kind === null ? 'New channel' : `New channel: ${nameOfKind(kind)}`,
    initial: {
      provider_type: kind,
      ...(kind === null ? {} : { [kind]: {} }),
      ...(monitor === null ? {} : { monitor_ids: [monitor] }),
    },
    ...(monitor === null ? {} : { toForm: (channel) => withMonitor(channel, monitor) }),
    newPath: `/channels/new?type=${kind ?? 'email'}`,
    editPath: (id) => `/channels/${id}/edit`,
    after: (id) => (id === null ? '/channels' : `/channels/${id}`),
  };
}

function withMonitor(channel: Readonly<Record<string, unknown>>, monitor: string) {
  const linked = Array.isArray(channel.monitor_ids) ? channel.monitor_ids : [];
  return { ...channel, monitor_ids: [...new Set([...linked, monitor])] };
}

function chooseKind(request: DashboardRequest) {
  const monitor = monitorIn(request);
  const chosen = monitor === null ? '' : `&monitor=${monitor}`;
  return kindChoice({
    title: 'New channel',
    question: 'Where should alerts be sent?',
    kinds: CHANNEL_KINDS.map((kind) => ({
      href: `/channels/new?type=${kind}${chosen}`,
      label: nameOfKind(kind),
      help: servicesOf(kind),
      name: kind,
    })),
    cancel: '/channels',
  });
}

/** The targets of the forms on a channel's page: a test, replays, removal. */
const channelActions: readonly DashboardPage[] = [
  { method: 'POST', path: '/channels/{id}/test', scope: 'write', handle: sendTest },
  { method: 'POST', path: '/channels/{id}/retry', scope: 'write', handle: replayDeliveries },
  ...removalPages('/channels/{id}/delete', removalOf),
];

/** Sends a test alert. The answer redirects to the test's attempts in the channel's ledger. */
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

/** Queues one delivery of the channel again, or all its deliveries that were given up. */
async function replayDeliveries(request: DashboardRequest): Promise<DashboardAnswer> {
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
    async consequences({ api }, { monitor_ids: monitors }) {
      const pending = await api.read(channelDeliveries, { id, state: 'pending', limit: 100 });
      const count = pending.data.length;
      const waiting = pending.next_cursor === null ? String(count) : `More than ${count}`;
      return html`<p>${monitors.length === 0 ? 'No monitor is linked to it.' : `${monitors.length} ${monitors.length === 1 ? 'monitor is' : 'monitors are'} linked to it, and will no longer alert it.`}
Its ledger is removed with it. ${count === 0 ? 'No alert waits to be sent.' : `${waiting} alerts wait to be sent, and are dropped.`}</p>`;
    },
  };
}

/** Maximum number of monitors that a channel's page names. */
const MONITORS_NAMED = 20;

/** The page of a channel, with its state, settings, monitors and ledger. */
const channelPage: DashboardPage = {
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
      body: html`${channelHead(request, channel)}
${standing(channel)}
${declared(called.headers)}
<section class="stack" aria-labelledby="settings"><h2 id="settings">Settings</h2>
${facts(CHANNEL_FORM, channel, ['monitor_ids', 'name'])}</section>
${await monitors(request, channel)}
${await ledgerSection(request, id)}`,
    };
  },
};

function channelHead({ hasScope, formToken }: DashboardRequest, channel: ChannelView): Html {
  const { id } = channel;
  const actions = html`<form method="post" action="/channels/${id}/test">${formToken}<button>Send a test</button></form>
<a class="button" href="/channels/${id}/edit">Edit</a>
<a class="button button-danger" href="/channels/${id}/delete">Remove</a>`;
  return pageHead(channelName(channel), {
    above: [{ href: '/channels', label: 'Channels' }],
    ...(hasScope('write') ? { actions } : {}),
  });
}

function standing(channel: ChannelView): Html {
  const { state_reason: reason, stopped_at: stopped } = channel;
  const more =
    stopped === null
      ? NO_HTML
      : html`<p class="hint">The channel is stopped: its alerts are given up at once. To start it again, change its settings, or send a test that arrives.</p>`;
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
      ? html`<p class="soft">No monitor sends alerts to this channel. Choose monitors in its settings.</p>`
      : html`<ul class="plain-list columns">${named}${more > 0 ? html`<li class="soft">and ${more} more</li>` : NO_HTML}</ul>`;
  return html`<section class="stack" aria-labelledby="monitors"><h2 id="monitors">Monitors</h2>${list}</section>`;
}

async function ledgerSection(request: DashboardRequest, id: number): Promise<Html> {
  const { api, query, hasScope, now, formToken } = request;
  const state = DELIVERY_STATES.find((each) => each === query.get('state')) ?? null;
  const { data, next_cursor: next } = await api.read(channelDeliveries, {
    id,
    limit: 20,
    state,
    cursor: query.get('cursor'),
  });
  const path = `/channels/${id}`;
  const token = hasScope('write') ? formToken : null;
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
  return html`<form method="post" action="${path}/retry">${formToken}<button>Send all given-up alerts again</button></form>`;
}

/** The data that the ledger of a channel needs in addition to its deliveries. */
type LedgerOptions = {
  /** Path of the channel's page. */
  readonly path: string;
  /** The hidden form token; null: the visitor may not replay. */
  readonly formToken: Html | null;
  /** Id of the delivery whose attempts are shown open; null: none. */
  readonly open: string | null;
  /** Present time, epoch ms. */
  readonly now: number;
};

/** The alerts of a channel with their attempts, newest first. */
function ledger(deliveries: readonly DeliveryView[], options: LedgerOptions): Html {
  return html`<ol class="plain-list ledger">${deliveries.map((each) => entry(each, options))}</ol>`;
}

/**
 * Links that filter the ledger by state.
 *
 * @param chosen null: all states
 */
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
${isReplayable(delivery) && options.formToken !== null ? replayButton(delivery, options.path, options.formToken) : NO_HTML}</li>`;
}

/** Whether a delivery can be queued again. Tests and messages of svc about itself cannot be. */
function isReplayable({ state, monitor_id: monitorId }: DeliveryView): boolean {
  return state === 'dead' && monitorId !== '0';
}

/** The alert of a delivery in a few words. */
function subject({ alert, monitor_id: monitorId }: DeliveryView): Html {
  if (alert === null) return html`an alert that this version cannot read`;
  if (alert.notice !== undefined) return html`${alert.notice.title}`;
  if (alert.test === true) return html`test alert`;
  return html`<a href="/monitors/${monitorId}">${alert.monitor.name}</a> · ${alertText(alert)}`;
}

function countOf(count: number): string {
  if (count === 0) return 'No attempt yet';
  return count === 1 ? '1 attempt' : `${count} attempts`;
}

function replayButton({ id }: DeliveryView, path: string, formToken: Html): Html {
  return html`<form method="post" action="${path}/retry">${formToken}<input type="hidden" name="delivery" value="${id}">
<button aria-label="Send again: delivery ${id}">Send again</button></form>`;
}

/** All pages of channels. */
export const channelPages: readonly DashboardPage[] = [
  channelList,
  ...channelForms,
  channelPage,
  ...channelActions,
];
