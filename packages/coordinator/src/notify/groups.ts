import type { Alert } from '@svc/shared/channels/alert.ts';
import { COLLECT_MS, groupAlert, isTogether, RecentChanges, TOLD_ALONE } from '../domain/grouping.ts';
import type { QueuedDelivery } from '../store/delivery-queue.ts';
import { reasonOf } from './attempts.ts';
import type { SendResult } from './channel.ts';
import type { ChannelQueue, FoundChannel } from './channel-queue.ts';
import type { Lane } from './lane.ts';

/** A lane with its head, which is sent now. */
export type Member = { readonly lane: Lane; readonly delivery: QueuedDelivery };

/** Lateness from which an alert says how late it is, ms. */
const LATE_MS = 60_000;

/** Most alerts in one message. */
export const GROUP_MEMBERS = 1_000;

/**
 * How the head of a lane is sent.
 *
 * - `alone`: at once, in a message of its own.
 * - `collected`: it waits for others of its group.
 * - `leading`: at once, with all others of its group.
 */
export type Turn =
  | { readonly as: 'alone' | 'leading' }
  | { readonly as: 'collected'; readonly waitMs: number };

const ALONE: Turn = { as: 'alone' };
const LATER: Turn = { as: 'collected', waitMs: COLLECT_MS };

/**
 * Decides which alerts come as one message. Only what goes together is stored, right before it is sent: what
 * may have arrived is sent as the same message again. The rest is found again after a restart from when the
 * deliveries were queued.
 */
export class Groups {
  /** By workspace, that of the latest change last. */
  readonly #recent = new Map<number, RecentChanges>();

  /**
   * @param wall epoch ms
   */
  turnOf(queue: ChannelQueue, found: FoundChannel, { lane, delivery }: Member, wall: number): Turn {
    if (!isGroupable(queue, found, lane, delivery)) return ALONE;
    const { createdAt, monitorId, tries, id, groupUid } = delivery;
    if (groupUid !== null) return queue.isGrouping ? LATER : { as: 'leading' };
    const rank = this.#changesOf(found.workspaceId, createdAt).note(monitorId, createdAt);
    const leftMs = createdAt + COLLECT_MS - wall;
    // What could not be sent at once may as well come with the others.
    const isFresh = tries === 0 && leftMs > 0;
    if (rank <= TOLD_ALONE && (isFresh || !this.#isOfMany(queue, found, createdAt))) return ALONE;
    if (queue.isGrouping) return LATER;
    // Once only: the clock may have been set back.
    if (leftMs > 0 && lane.collectedId !== id) {
      return { as: 'collected', waitMs: Math.min(leftMs, COLLECT_MS) };
    }
    return { as: 'leading' };
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

  /** Whether more monitors changed with this one, by what was sent and what waits for the channel. */
  #isOfMany(queue: ChannelQueue, { workspaceId }: FoundChannel, at: number): boolean {
    const monitors = this.#recent.get(workspaceId)?.together(at) ?? new Set();
    for (const lane of queue.lanes.values()) {
      if (isTogether(lane.queuedAt, at)) monitors.add(lane.monitorId);
      if (monitors.size > TOLD_ALONE) return true;
    }
    return monitors.size > TOLD_ALONE;
  }
}

/** Whether the delivery may be part of a message for many monitors. */
export function isGroupable(
  { facts }: ChannelQueue,
  { groupsAlerts, stoppedFor }: FoundChannel,
  lane: Lane,
  { alert, replayedAt, id }: QueuedDelivery,
): boolean {
  if (facts === null || !facts.isHuman || !groupsAlerts || stoppedFor !== null) return false;
  if (alert === null || replayedAt !== null || lane.aloneId === id) return false;
  return alert.notice === undefined && alert.test !== true;
}

/**
 * Whether the head of a lane that is not being sent may be of the group.
 *
 * @param at when the first of the group was queued, epoch ms
 */
export function mayJoin(lane: Lane, at: number): boolean {
  return lane.aloneId !== lane.headId && isTogether(lane.queuedAt, at);
}

/**
 * What one message says for these deliveries; null: this version cannot read it.
 *
 * @param members at least one, in the order of their ids
 */
function alertFor(members: readonly Member[]): Alert | null {
  const alerts = members.map(({ delivery }) => delivery.alert).filter((alert) => alert !== null);
  if (alerts.length <= 1) return alerts[0] ?? null;
  return groupAlert(alerts);
}

/** What the kind keeps of the incidents, if it keeps the same of all; null: nothing. */
export function threadOf(members: readonly Member[]): string | null {
  const thread = members[0]?.delivery.thread ?? null;
  return members.every(({ delivery }) => delivery.thread === thread) ? thread : null;
}

/** When the oldest of these members was queued, epoch ms. */
export function oldestOf(members: readonly Member[]): number {
  return Math.min(...members.map(({ delivery }) => delivery.createdAt));
}

/**
 * The message for these members, with how late it is when that matters to people.
 *
 * @param delayedMs age of the oldest of its alerts
 * @returns null: this version cannot read the stored alert
 */
export function alertOf(members: readonly Member[], delayedMs: number): Alert | null {
  const alert = alertFor(members);
  return alert === null || delayedMs < LATE_MS ? alert : { ...alert, delayedMs };
}

/**
 * What the attempt means for each of its deliveries. One of many that is refused for its content may be to blame
 * for all, so each is sent alone then.
 */
export function ofEach(members: readonly Member[], result: SendResult): SendResult {
  if (members.length === 1 || result.outcome !== 'permanent-message') return result;
  for (const { lane, delivery } of members) lane.aloneId = delivery.id;
  return { ...result, outcome: 'retry', reason: reasonOf(result) ?? 'refused' };
}
