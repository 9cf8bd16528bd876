import type { Alert, AlertStatus, Closure } from '@svc/shared/channels/alert.ts';
import type { Frame } from './frame.ts';
import type { LiveMonitor } from './monitor.ts';
import type { Link, MonitorState } from './state.ts';
import type { Vote } from './status.ts';
import { announcement } from './transition.ts';

/**
 * Announces the monitor's status: queues an alert for each of its channels whose last
 * announced status differs. Queues nothing while the status is `unknown` or announcements
 * about the monitor are held. All alerts about a new status come from this function: after
 * a change of status, for a new link, at the end of a hold and after a start.
 *
 * @param counted the votes that counted for the status
 */
export function announceStatus(
  frame: Frame,
  state: MonitorState,
  monitor: AlertedMonitor,
  counted: readonly Vote[],
): void {
  const { status, reason, since: at } = state;
  if (status === 'unknown' || frame.isHeld(state)) return;
  state.links = updateLinks(state.links, (link) => {
    const told = announcement(link.announced, status);
    // If an incident was announced to the channel and is still open there, the alert keeps its key, even if
    // another incident of the monitor began during a hold.
    const incident = link.incident ?? state.incident;
    if (told === null || incident === null) return link;
    const since = (link.incident === null ? state.incidentSince : link.incidentSince) ?? null;
    const facts = { monitor, status: told, votes: counted, at, reason, incident, since };
    queueDelivery(frame, state.id, link, alertOf(facts), state.statusSlot);
    const isOver = status === 'active';
    return writeLink(frame, state.id, {
      ...link,
      announced: status,
      incident: isOver ? null : incident,
      incidentSince: isOver ? null : since,
    });
  });
}

/**
 * Ends the monitor's incident without a recovery. Only channels whose kind keeps incidents open get an alert.
 * The announced status of every channel becomes `active` again.
 */
export function closeIncident(
  frame: Frame,
  state: Pick<MonitorState, 'id' | 'incident' | 'incidentSince' | 'links'>,
  monitor: AlertedMonitor,
  counted: readonly Vote[],
  closure: Closure,
): void {
  state.links = updateLinks(state.links, (link) => {
    if (link.announced === 'active') return link;
    closeOn(frame, state.id, link, monitor, counted, closure);
    return writeLink(frame, state.id, { ...link, announced: 'active', incident: null, incidentSince: null });
  });
  if (state.incident === null) return;
  frame.writes.closedIncidents.push({ key: state.incident, at: frame.instants.slotNow, closure });
  state.incident = null;
  state.incidentSince = null;
}

/**
 * Queues an alert which says that the channel's incident is over, and why. Does nothing if the channel's kind
 * does not keep incidents open, or if no incident was announced to the channel.
 */
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
  queueDelivery(frame, monitorId, link, alert, NO_CHANGE);
}

/**
 * Resets the announced status of a removed link in the store. If the channel is linked to the monitor again, the new
 * link must begin from `active`.
 */
export function writeUnlinked(frame: Frame, monitorId: number, { notificationId, providerType }: Link): void {
  const none = { announced: 'active', incident: null } as const;
  frame.writes.announcements.push({ monitorId, notificationId, providerType, ...none });
}

/**
 * The `statusSlot` of an alert that ends an incident without a recovery. A link gets only one such alert for
 * each incident, so the alert's id does not need the slot of a change. A removed monitor has no state from
 * which that slot could be taken.
 */
const NO_CHANGE = 0;

function queueDelivery(frame: Frame, monitorId: number, link: Link, alert: Alert, statusSlot: number): void {
  const { notificationId, version: linkVersion } = link;
  const { incident, status } = alert;
  frame.writes.deliveries.push({
    uid: frame.ids.alertId({ monitorId, notificationId, linkVersion, incident, status, statusSlot }),
    notificationId,
    monitorId,
    alert,
    queuedAt: frame.instants.wall,
  });
}

function writeLink(frame: Frame, monitorId: number, link: Link): Link {
  const { notificationId, providerType, announced, incident } = link;
  frame.writes.announcements.push({ monitorId, notificationId, providerType, announced, incident });
  return { ...link, isTold: true };
}

/**
 * Returns the links after `change` was applied to each. Returns `links` itself if nothing changes, because
 * most monitors share one empty array.
 */
function updateLinks(links: readonly Link[], change: (link: Link) => Link): readonly Link[] {
  const next = links.map(change);
  return next.some((link, index) => link !== links[index]) ? next : links;
}

/**
 * The attributes of a monitor that an alert contains. The latency threshold (`degradedAtMs`) may be missing if
 * the monitor was removed.
 */
export type AlertedMonitor = Pick<LiveMonitor, 'id' | 'name' | 'target' | 'type'> &
  Partial<Pick<LiveMonitor, 'degradedAtMs'>>;

export type AlertFacts = {
  readonly monitor: AlertedMonitor;
  readonly status: AlertStatus;
  /** The votes that counted for the verdict. */
  readonly votes: readonly Vote[];
  /** When the announced status began, or when the incident was ended without a recovery, epoch ms. */
  readonly at: number;
  readonly reason: string;
  readonly incident: string;
  /** When the incident began, epoch ms; null: not known. */
  readonly since: number | null;
  readonly closure?: Closure;
};

/**
 * Makes an alert. It describes the check of the newest vote that supports the status or, if the incident ends
 * without a recovery, the check of the newest vote. Without such a vote the alert describes no check, for
 * example when a monitor without votes is deactivated.
 */
export function alertOf(facts: AlertFacts): Alert {
  const { monitor, status, votes, at, reason, incident, since, closure } = facts;
  const vote = closure === undefined ? newestSupporting(votes, status) : newest(votes, () => true);
  const alert: Alert = {
    monitor: { id: monitor.id, name: monitor.name, url: monitor.target, type: monitor.type },
    status,
    cronTimestamp: vote?.slot ?? at,
    at,
    reason,
    incident,
    regions: votes.map(({ region, outcome, slot }) => ({ region, outcome, slot })),
  };
  if (since !== null) alert.since = since;
  if (monitor.degradedAtMs) alert.degradedAt = monitor.degradedAtMs;
  if (vote !== null) {
    if (vote.statusCode !== null) alert.statusCode = vote.statusCode;
    if (vote.latency !== null) alert.latency = vote.latency;
    if (vote.errorMessage !== null) alert.errorMessage = vote.errorMessage;
  }
  if (closure !== undefined) alert.closure = closure;
  return alert;
}

function newestSupporting(votes: readonly Vote[], status: AlertStatus): Vote | null {
  switch (status) {
    case 'error':
      return newest(votes, (vote) => vote.outcome === 'failed');
    case 'degraded':
      // As many votes as the quorum needs failed or are degraded. A degraded
      // vote explains the status `degraded` better than a failed vote.
      return (
        newest(votes, (vote) => vote.outcome === 'degraded') ??
        newest(votes, (vote) => vote.outcome === 'failed')
      );
    case 'recovered':
      return (
        newest(votes, (vote) => vote.outcome === 'passed') ??
        newest(votes, (vote) => vote.outcome === 'degraded')
      );
  }
}

/**
 * Among the matching votes, the vote with the newest slot, and the first vote if
 * several have this slot; null: no vote matches.
 */
function newest(votes: readonly Vote[], matches: (vote: Vote) => boolean): Vote | null {
  let found: Vote | null = null;
  for (const vote of votes) {
    if (matches(vote) && (found === null || vote.slot > found.slot)) found = vote;
  }
  return found;
}
