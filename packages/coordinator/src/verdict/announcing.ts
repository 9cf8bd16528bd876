import type { Closure } from '@svc/shared/channels/alert.ts';
import { type AlertedMonitor, alertOf } from './alert.ts';
import type { Frame } from './frame.ts';
import type { Link, MonitorState } from './state.ts';
import type { Vote } from './status.ts';
import { announcement } from './transition.ts';

/**
 * Tells every channel of the monitor the status that it has not been told yet. This is the one place where
 * that is decided: on a change of status, when a channel is linked, at the end of a hold and after a start.
 *
 * @param counted the votes of the status
 */
export function announce(
  frame: Frame,
  state: MonitorState,
  monitor: AlertedMonitor,
  counted: readonly Vote[],
): void {
  const { status, reason, since: at } = state;
  if (status === 'unknown' || frame.isHeld(state)) return;
  state.links = updated(state.links, (link) => {
    const told = announcement(link.announced, status);
    // The alerts of a channel keep their key, even when another incident has begun during a hold.
    const incident = link.incident ?? state.incident;
    if (told === null || incident === null) return link;
    const since = (link.incident === null ? state.incidentSince : link.incidentSince) ?? null;
    const facts = { monitor, status: told, votes: counted, at, reason, incident, since };
    deliver(frame, state.id, link, alertOf(facts));
    const isOver = status === 'active';
    return written(frame, state.id, {
      ...link,
      announced: status,
      incident: isOver ? null : incident,
      incidentSince: isOver ? null : since,
    });
  });
}

/**
 * Ends an incident without a recovery. Channels of kinds that keep incidents open are told. All channels
 * start from `active` again.
 */
export function closeIncident(
  frame: Frame,
  state: Pick<MonitorState, 'id' | 'incident' | 'incidentSince' | 'links'>,
  monitor: AlertedMonitor,
  counted: readonly Vote[],
  closure: Closure,
): void {
  state.links = updated(state.links, (link) => {
    if (link.announced === 'active') return link;
    closeOn(frame, state.id, link, monitor, counted, closure);
    return written(frame, state.id, { ...link, announced: 'active', incident: null, incidentSince: null });
  });
  if (state.incident === null) return;
  frame.writes.closedIncidents.push({ key: state.incident, at: frame.instants.slotNow, closure });
  state.incident = null;
  state.incidentSince = null;
}

/** Tells the link's channel that its incident is over and why, if its kind keeps incidents open until told. */
export function closeOn(
  frame: Frame,
  monitorId: number,
  link: Link,
  monitor: AlertedMonitor,
  counted: readonly Vote[],
  closure: Closure,
): void {
  const { announced, incident, providerType } = link;
  if (announced === 'active' || incident === null || !frame.closesIncidents(providerType)) return;
  const at = frame.instants.slotNow;
  const alert = alertOf({
    monitor,
    status: 'recovered',
    votes: counted,
    at,
    reason: closure,
    incident,
    since: link.incidentSince ?? null,
    closure,
  });
  deliver(frame, monitorId, link, alert);
}

/** The channel is not linked any more. A row that links it again may have got what this link was told: it begins anew. */
export function unlinked(frame: Frame, monitorId: number, { notificationId, providerType }: Link): void {
  const none = { announced: 'active', incident: null } as const;
  frame.writes.announcements.push({ monitorId, notificationId, providerType, ...none });
}

function deliver(frame: Frame, monitorId: number, link: Link, alert: ReturnType<typeof alertOf>): void {
  frame.writes.deliveries.push({
    uid: frame.newKey(),
    notificationId: link.notificationId,
    monitorId,
    alert,
    queuedAt: frame.instants.wall,
  });
}

function written(frame: Frame, monitorId: number, link: Link): Link {
  const { notificationId, providerType, announced, incident } = link;
  frame.writes.announcements.push({ monitorId, notificationId, providerType, announced, incident });
  return { ...link, isTold: true };
}

/** Returns `links` itself when nothing changes, because most monitors share one empty array. */
function updated(links: readonly Link[], change: (link: Link) => Link): readonly Link[] {
  const next = links.map(change);
  return next.some((link, index) => link !== links[index]) ? next : links;
}
