import type { Alert } from '@svc/shared/channels/alert.ts';
import { derivedUuid } from '@svc/shared/ids.ts';
import type { QueuedDelivery } from '../store/alerts/delivery-queue.ts';
import { COLLECT_MS, GROUP_WINDOW_MS, groupAlert, RecentChanges, TOLD_ALONE } from '../verdict/grouping.ts';
import type { ChannelFacts } from './channel.ts';

/** Minimum delay that an alert states, ms. */
const LATE_MS = 60_000;

/** Maximum number of alerts in one message. */
export const GROUP_MEMBERS = 1_000;

/**
 * How a delivery is sent.
 *
 * - `alone`: at once, in a message of its own.
 * - `collected`: after a wait of at most 3 s, with the others of its group.
 * - `grouped`: at once, with all others of its group.
 * - `grouped-if-many`: as `grouped` if more than 20 monitors changed together, otherwise as `alone`.
 */
export type Turn =
  | { readonly as: 'alone' | 'grouped' | 'grouped-if-many' }
  | { readonly as: 'collected'; readonly waitMs: number };

/**
 * Decides which alerts are sent in one message. The members of a group are stored right before their
 * message is sent, so that a message that may have arrived is repeated with the same members. Nothing
 * else is stored: after a restart, the times at which the pending deliveries were queued decide.
 */
export class Groups {
  /** Recent changes by {@link changesKey}. The key that was used last comes last. */
  readonly #recent = new Map<string, RecentChanges>();

  /**
   * Decides how a delivery is sent. The caller must have checked {@link isGroupable}.
   *
   * @param wall present time of the wall clock, epoch ms
   */
  turnOf(workspaceId: number, delivery: QueuedDelivery, wall: number): Turn {
    const { createdAt, monitorId, tries, groupUid } = delivery;
    if (groupUid !== null) return { as: 'grouped' };
    const rank = this.#changesOf(changesKey(workspaceId, delivery), createdAt).note(monitorId, createdAt);
    const leftMs = createdAt + COLLECT_MS - wall;
    if (rank > TOLD_ALONE) {
      // Up to a hundred reminders are queued at once. None of them waits for
      // others, because all other alerts to the channel would wait behind it.
      if (leftMs > 0 && !isReminder(delivery))
        return { as: 'collected', waitMs: Math.min(leftMs, COLLECT_MS) };
      return { as: 'grouped' };
    }
    // A delivery that was tried before, or not sent within 3 s, may be sent with the others of its group.
    return { as: tries === 0 && leftMs > 0 ? 'alone' : 'grouped-if-many' };
  }

  /**
   * Whether more than 20 monitors changed together: those that changed within 30 s
   * before or after the first of these deliveries, and those of all these deliveries.
   *
   * @param deliveries deliveries to one channel that may be in one message
   */
  areMany(workspaceId: number, deliveries: readonly QueuedDelivery[]): boolean {
    const [first] = deliveries;
    if (first === undefined) return false;
    const monitors = this.#recent.get(changesKey(workspaceId, first))?.together(first.createdAt) ?? new Set();
    for (const { monitorId } of deliveries) monitors.add(monitorId);
    return monitors.size > TOLD_ALONE;
  }

  #changesOf(key: string, at: number): RecentChanges {
    const known = this.#recent.get(key);
    if (known !== undefined) this.#recent.delete(key);
    for (const [other, changes] of this.#recent) {
      if (!changes.isOver(at)) break;
      this.#recent.delete(other);
    }
    const changes = known ?? new RecentChanges();
    this.#recent.set(key, changes);
    return changes;
  }
}

/** The key under which a change is counted. Reminders are counted separately, because they are sent separately. */
function changesKey(workspaceId: number, delivery: QueuedDelivery): string {
  return isReminder(delivery) ? `${workspaceId} reminders` : `${workspaceId}`;
}

function isReminder({ alert }: QueuedDelivery): boolean {
  return alert?.reminder !== undefined;
}

/**
 * Whether two deliveries to one channel may be in one message, if both are groupable ({@link isGroupable}). A
 * reminder shares a message only with reminders: among reminders, people would overlook a new failure.
 */
export function mayShareMessage(one: QueuedDelivery, other: QueuedDelivery): boolean {
  return isReminder(one) === isReminder(other);
}

/** Whether the delivery may be sent in a message about many monitors. */
export function isGroupable(
  facts: ChannelFacts | null,
  { groupsAlerts, stoppedFor }: { readonly groupsAlerts: boolean; readonly stoppedFor: string | null },
  { alert, replayedAt }: QueuedDelivery,
): boolean {
  if (facts === null || !facts.isHuman || !groupsAlerts || stoppedFor !== null) return false;
  if (alert === null || replayedAt !== null) return false;
  // A message of svc about itself is about no monitor.
  return (alert.notice === undefined || alert.notice.facts !== undefined) && alert.test !== true;
}

/**
 * The open interval in which the other members of a delivery's group were queued, epoch ms. It is twice as
 * long if the group is sent again, because the first attempt may have collected the group around another member.
 */
export function groupWindow({ createdAt, groupUid }: QueuedDelivery): { after: number; before: number } {
  const windowMs = (groupUid === null ? 1 : 2) * GROUP_WINDOW_MS;
  return { after: createdAt - windowMs, before: createdAt + windowMs };
}

/**
 * The id of the message that contains these deliveries. For a single delivery, it is the delivery's uid.
 * For a group, it is derived from the uids of all members, so it is always the same for the same members. If a
 * member of a kept group was left out or sent alone, the others are sent with a new id, and the receiver may show
 * them twice. With the id of the whole group, the receiver could drop one of two parts of the group as a repetition.
 *
 * @param members in the order of their ids
 */
export function messageIdOf(members: readonly QueuedDelivery[]): string {
  const uids = members.map(({ uid }) => uid);
  const [first] = uids;
  return first !== undefined && uids.length === 1 ? first : derivedUuid(uids);
}

/** The `thread` that all of these deliveries have; null: their threads differ, or they have none. */
export function threadOf(members: readonly QueuedDelivery[]): string | null {
  const thread = members[0]?.thread ?? null;
  return members.every((delivery) => delivery.thread === thread) ? thread : null;
}

/** When the oldest of these deliveries was queued, epoch ms. */
export function oldestOf(members: readonly QueuedDelivery[]): number {
  return Math.min(...members.map(({ createdAt }) => createdAt));
}

/**
 * The alert that the one message for these deliveries
 * contains. It states `delayedMs` if that is a minute or more.
 *
 * @param members   at least one, in the order of their ids
 * @param delayedMs age of the oldest of the deliveries, ms
 * @returns null: this version can read none of the stored alerts
 */
export function alertOf(members: readonly QueuedDelivery[], delayedMs: number): Alert | null {
  const alerts = members.map(({ alert }) => alert).filter((alert) => alert !== null);
  const alert = alerts.length > 1 ? groupAlert(alerts) : (alerts[0] ?? null);
  return alert === null || delayedMs < LATE_MS ? alert : { ...alert, delayedMs };
}
