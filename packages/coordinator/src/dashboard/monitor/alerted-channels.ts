import type { AnswerOf } from '../../api/endpoint.ts';
import type { monitorUses } from '../../api/routes/monitors.ts';
import { CHANNEL } from '../../api/routes/notifications.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { channelName, channelState } from '../channels/channel-state.ts';
import type { DashboardRequest } from '../dashboard-page.ts';
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
