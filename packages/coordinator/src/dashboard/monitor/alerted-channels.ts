import type { AnswerOf } from '../../api/endpoint.ts';
import { monitorUses } from '../../api/routes/monitors.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { CHANNEL_FORM, type ChannelView, channelName, channelState } from '../channels/channel-state.ts';
import type { DashboardRequest, PageApi } from '../dashboard-page.ts';
import { entriesOf } from '../forms/to-entries.ts';
import { resourceFrom } from '../forms/to-resource.ts';
import type { MonitorView } from './monitor-head.ts';

type Linked = Pick<AnswerOf<typeof monitorUses>, 'notifications' | 'notification_count'>;

/** Maximum number of channels that are offered for a monitor. */
const MOST_OFFERED = 10;

/** The section of a monitor's page that says who is alerted, with links to add a channel. */
export async function alertedSection(
  request: DashboardRequest,
  { id }: Pick<MonitorView, 'id'>,
  linked: Linked,
): Promise<Html> {
  return html`<section aria-labelledby="alerted" class="stack"><h2 id="alerted">Who is alerted</h2>
${linked.notification_count === 0 ? html`<p class="notice notice-warning">Nobody: no channel is linked to this monitor, so nobody is told when it fails.</p>` : linkedList(linked)}
${request.hasScope('write') ? await offers(request, id, linked) : NO_HTML}</section>`;
}

function linkedList({ notifications, notification_count: count }: Linked): Html {
  const more = count - notifications.length;
  return html`<ul class="plain-list">${notifications.map(
    (channel) =>
      html`<li><a href="/channels/${channel.id}">${channelName(channel)}</a> ${channelState(channel)}</li>`,
  )}${more > 0 ? html`<li class="soft">and ${more} more</li>` : NO_HTML}</ul>`;
}

/** Links to the forms of channels in which this monitor is chosen already. */
async function offers({ api }: DashboardRequest, id: string, { notifications }: Linked): Promise<Html> {
  const { data } = await api.read(CHANNEL.list, { limit: MOST_OFFERED + notifications.length });
  const linked = new Set(notifications.map((channel) => channel.id));
  const offered = data.filter((channel) => !linked.has(channel.id)).slice(0, MOST_OFFERED);
  return html`<p class="row">${offered.map(
    (channel) =>
      html`<a class="button" href="/channels/${channel.id}/edit?monitor=${id}">Alert ${channelName(channel)}</a>`,
  )}<a class="button" href="/channels/new?monitor=${id}">New channel for this monitor</a></p>`;
}

/** Maximum number of channels that the form of a monitor offers: one page of the API's list. */
const MOST_IN_FORM = 100;
/** Names of the form's inputs: the chosen channels, and those that were linked when the form was opened. */
const CHOSEN = 'alerted';
const LINKED = 'alerted_before';

/**
 * The part of a monitor's form that says who is alerted, and chooses channels. A channel has the list of its
 * monitors, so {@link linkChosen} changes the channels after the monitor is saved.
 *
 * @param id     null: the monitor is new
 * @param copied id of the monitor whose channels are chosen at first; null: none
 */
export async function alertedChoice(
  { api, form }: DashboardRequest,
  id: string | null,
  copied: string | null,
): Promise<Html> {
  const { data, total } = await api.read(CHANNEL.list, { limit: MOST_IN_FORM });
  const linkedTo = (monitor: string | null) =>
    data.filter(({ monitor_ids: ids }) => monitor !== null && ids.includes(monitor)).map((each) => each.id);
  const isSent = form.names().length > 0;
  const linked = isSent ? form.all(LINKED) : linkedTo(id);
  const chosen = new Set(isSent ? form.all(CHOSEN) : linkedTo(id ?? copied));
  const isWhole = id === null || total <= data.length;
  const others = isWhole ? 0 : (await api.read(monitorUses, { id })).notification_count - linkedTo(id).length;
  return html`<section class="form-section" aria-labelledby="alerted"><h2 id="alerted">Who is alerted</h2>
<fieldset class="set alerted"><legend class="unseen">Channels</legend>
${linked.map((each) => html`<input type="hidden" name="${LINKED}" value="${each}">`)}
${others > 0 ? html`<p class="hint">${others} more are linked, and stay linked.</p>` : nobody(total)}
${data.length === 0 ? NO_HTML : html`<div class="boxes boxes-wide">${data.map((channel) => channelBox(channel, chosen.has(channel.id)))}</div>`}
${total > data.length ? html`<p class="hint">The first ${data.length} of ${total} channels are listed. Link others on their own pages.</p>` : NO_HTML}
</fieldset>
<p class="row"><a href="/channels/new${id === null ? '' : `?monitor=${id}`}" target="_blank">New channel (in a new tab)</a>
<button class="button-quiet" name="intent" value="find ${CHOSEN}">List the channels again</button></p></section>`;
}

/** The style hides the sentence while a channel is chosen. */
function nobody(channels: number): Html {
  const reason = channels === 0 ? 'there is no channel yet' : 'no channel is chosen';
  return html`<p class="notice notice-warning nobody">Nobody: ${reason}, so nobody is told when it fails.</p>`;
}

function channelBox(channel: ChannelView, isChosen: boolean): Html {
  return html`<label class="choice"><input type="checkbox" name="${CHOSEN}" value="${channel.id}"${isChosen ? html` checked` : NO_HTML}> <span>${channelName(channel)} <span class="small">${channelState(channel)}</span></span></label>`;
}

/**
 * Links a saved monitor to the channels that were chosen in its form, and unlinks the others that were linked.
 *
 * @returns which channels were not changed, and why; null: all were changed
 */
export async function linkChosen({ api, form }: DashboardRequest, id: string): Promise<string | null> {
  const linked = new Set(form.all(LINKED));
  const chosen = new Set(form.all(CHOSEN));
  const problems: string[] = [];
  for (const channel of new Set([...linked, ...chosen])) {
    if (linked.has(channel) === chosen.has(channel)) continue;
    const problem = await linkChannel(api, channel, id, chosen.has(channel));
    if (problem !== null) problems.push(problem);
  }
  return problems.length === 0 ? null : problems.join('; ');
}

/**
 * Links a monitor to a channel, or unlinks it. Everything else about the channel stays.
 *
 * @returns what went wrong; null: nothing
 */
export async function linkChannel(
  api: PageApi,
  channel: string,
  monitor: string,
  isLinked: boolean,
): Promise<string | null> {
  const called = await api.call(CHANNEL.read, { id: channel });
  if (called.problem !== null) return `channel ${channel} was not changed: ${called.problem.message}`;
  const others = called.body.monitor_ids.filter((each) => each !== monitor);
  const changed = { ...called.body, monitor_ids: isLinked ? [...others, monitor] : others };
  const body = resourceFrom(CHANNEL_FORM, entriesOf(CHANNEL_FORM, changed, 'shown'), changed);
  const headers = { 'if-match': called.headers.etag ?? '' };
  const { problem } = await api.call(CHANNEL.replace, { id: channel }, { body, headers });
  return problem === null ? null : `${channelName(called.body)} was not changed: ${problem.message}`;
}
