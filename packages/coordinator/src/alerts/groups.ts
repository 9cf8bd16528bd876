import type { Alert } from '@svc/shared/channels/alert.ts';
import { derivedUuid } from '@svc/shared/ids.ts';
import type { QueuedDelivery } from '../store/alerts/delivery-queue.ts';
import { COLLECT_MS, GROUP_WINDOW_MS, groupAlert, RecentChanges, TOLD_ALONE } from '../verdict/grouping.ts';
import type { ChannelFacts } from './channel.ts';

/** Lateness from which an alert says how late it is, ms. */
const LATE_MS = 60_000;

/** Most alerts in one message. */
export const GROUP_MEMBERS = 1_000;

/**
 * How a delivery is sent.
 *
 * - `alone`: at once, in a message of its own.
 * - `collected`: it waits for others of its group.
 * - `grouped`: at once, with all others of its group.
 * - `grouped-if-many`: so where more than 20 monitors changed together, else alone.
 */
export type Turn =
  | { readonly as: 'alone' | 'grouped' | 'grouped-if-many' }
  | { readonly as: 'collected'; readonly waitMs: number };

/**
 * Decides which alerts come as one message. Only what goes together is stored, right before it is sent: what
 * may have arrived is sent as the same message again. The rest is found again after a restart from when the
 * deliveries were queued.
 */
export class Groups {
  /** By workspace, that of the latest change last. */
  readonly #recent = new Map<number, RecentChanges>();

  /**
   * The turn of a delivery that may be grouped: see {@link isGroupable}.
   *
   * @param wall epoch ms
   */
  turnOf(workspaceId: number, delivery: QueuedDelivery, wall: number): Turn {
    const { createdAt, monitorId, tries, groupUid } = delivery;
    if (groupUid !== null) return { as: 'grouped' };
    const rank = this.#changesOf(workspaceId, createdAt).note(monitorId, createdAt);
    const leftMs = createdAt + COLLECT_MS - wall;
    if (rank > TOLD_ALONE) {
      if (leftMs > 0) return { as: 'collected', waitMs: Math.min(leftMs, COLLECT_MS) };
      return { as: 'grouped' };
    }
    // What could not be sent at once may as well come with the others.
    return { as: tries === 0 && leftMs > 0 ? 'alone' : 'grouped-if-many' };
  }

  /** Whether more than 20 monitors changed together with these, which wait for one channel. */
  areMany(workspaceId: number, [first, ...others]: readonly QueuedDelivery[]): boolean {
    if (first === undefined) return false;
    const monitors = this.#recent.get(workspaceId)?.together(first.createdAt) ?? new Set();
    for (const { monitorId } of [first, ...others]) monitors.add(monitorId);
    return monitors.size > TOLD_ALONE;
  }

  #changesOf(workspaceId: number, at: number): RecentChanges {
    const known = this.#recent.get(workspaceId);
    if (known !== undefined) this.#recent.delete(workspaceId);
    for (const [id, changes] of this.#recent) {
      if (!changes.isOver(at)) break;
      this.#recent.delete(id);
    }
    const changes = known ?? new RecentChanges();
    this.#recent.set(workspaceId, changes);
    return changes;
  }
}

/** Whether the delivery may be part of a message for many monitors. */
export function isGroupable(
  facts: ChannelFacts | null,
  { groupsAlerts, stoppedFor }: { readonly groupsAlerts: boolean; readonly stoppedFor: string | null },
  { alert, replayedAt }: QueuedDelivery,
): boolean {
  if (facts === null || !facts.isHuman || !groupsAlerts || stoppedFor !== null) return false;
  if (alert === null || replayedAt !== null) return false;
  return alert.notice === undefined && alert.test !== true;
}

/**
 * When the others of the delivery's group were queued, both left out, epoch ms. Another one may have led a group that
 * is sent again: its members are up to twice as far apart.
 */
export function groupWindow({ createdAt, groupUid }: QueuedDelivery): { after: number; before: number } {
  const windowMs = (groupUid === null ? 1 : 2) * GROUP_WINDOW_MS;
  return { after: createdAt - windowMs, before: createdAt + windowMs };
}

/**
 * The id of the message for these deliveries: that of the delivery, or one that is the same whenever the same
 * deliveries go together.
 *
 * @param members in the order of their ids
 */
export function messageIdOf(members: readonly QueuedDelivery[]): string {
  const [first, ...others] = members.map(({ uid }) => uid);
  return first !== undefined && others.length === 0 ? first : derivedUuid([first, ...others].join(' '));
}

/** What the kind keeps of the incidents, if it keeps the same of all; null: nothing. */
export function threadOf(members: readonly QueuedDelivery[]): string | null {
  const thread = members[0]?.thread ?? null;
  return members.every((delivery) => delivery.thread === thread) ? thread : null;
}

/** When the oldest of these was queued, epoch ms. */
export function oldestOf(members: readonly QueuedDelivery[]): number {
  return Math.min(...members.map(({ createdAt }) => createdAt));
}

/**
 * The one message for these deliveries, with how late it is when that matters to people.
 *
 * @param members   at least one, in the order of their ids
 * @param delayedMs age of the oldest of its alerts
 * @returns null: this version cannot read the stored alert
 */
export function alertOf(members: readonly QueuedDelivery[], delayedMs: number): Alert | null {
  const alerts = members.map(({ alert }) => alert).filter((alert) => alert !== null);
  const alert = alerts.length > 1 ? groupAlert(alerts) : (alerts[0] ?? null);
  return alert === null || delayedMs < LATE_MS ? alert : { ...alert, delayedMs };
}
