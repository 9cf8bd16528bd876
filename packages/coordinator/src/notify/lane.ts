import type { Alert } from '@svc/shared/channels/alert.ts';
import type { LaneId, QueuedDelivery } from '../store/delivery-queue.ts';

/** Waits after failures of our own, ms: doubled each time. */
const FIRST_OWN_WAIT_MS = 1_000;
const LONGEST_OWN_WAIT_MS = 60_000;

/**
 * The deliveries of one monitor to one channel. A lane is in exactly one of three places: `ready` (in its
 * channel's queue, until its turn), `sending` (until the step is recorded), or `waiting` (a timer runs until
 * the head's next attempt). It holds at most the head of its deliveries, and only when the head is sent at
 * once: backlogs stay in the database.
 */
export type Lane = LaneId & {
  /** Id of the head. Ids grow in the order of the alerts. */
  headId: number;
  /** When the head was queued or replayed, epoch ms. */
  queuedAt: number;
  loaded: QueuedDelivery | null;
  place: 'ready' | 'sending' | 'waiting';
  /** Whether something was queued since the lane last looked at the database. */
  isWoken: boolean;
  /** Ends the wait; does nothing in other places. */
  cancelTimer: () => void;
  /** When a wait ends, on the monotonic clock. */
  dueAt: number;
  /** When the head was last tried, on the monotonic clock; null: not yet. */
  triedAt: number | null;
  /**
   * Whether the last try was one that the channel's success brought. A lane that fails then is not woken by
   * successes until its own wait is over: its alert is to blame, not the channel.
   */
  isEarly: boolean;
  /** Failures of our own in a row. */
  ownFailures: number;
  /** The head that waited, or waits, for others of its group; 0: none. */
  collectedId: number;
  /** The head that is sent alone, because its group was refused for its content; 0: none. */
  aloneId: number;
};

export function newLane(notificationId: number, monitorId: number): Lane {
  return {
    notificationId,
    monitorId,
    headId: 0,
    queuedAt: 0,
    loaded: null,
    place: 'ready',
    isWoken: false,
    cancelTimer: () => {},
    dueAt: 0,
    triedAt: null,
    isEarly: false,
    ownFailures: 0,
    collectedId: 0,
    aloneId: 0,
  };
}

/** Makes this delivery the lane's head. */
export function takeHead(lane: Lane, { id, createdAt, replayedAt }: QueuedDelivery): void {
  if (lane.headId !== id) Object.assign(lane, { triedAt: null, isEarly: false, ownFailures: 0 });
  lane.headId = id;
  lane.queuedAt = replayedAt ?? createdAt;
}

/**
 * Whether the lane's failure says nothing about the channel as it is now.
 *
 * @param startedAt when an attempt began that the channel took, on the monotonic clock
 */
export function isFailedBefore({ triedAt, isEarly, collectedId, headId }: Lane, startedAt: number): boolean {
  if (triedAt === null && collectedId === headId) return false;
  return !isEarly && (triedAt ?? Number.NEGATIVE_INFINITY) < startedAt;
}

/** Counts another failure of our own; answers the wait after it, ms. */
export function ownWait(lane: Lane): number {
  lane.ownFailures += 1;
  return Math.min(FIRST_OWN_WAIT_MS * 2 ** (lane.ownFailures - 1), LONGEST_OWN_WAIT_MS);
}

/** A delivery that was just committed. */
export type NewlyQueued = LaneId & {
  readonly id: number;
  readonly uid: string;
  readonly alert: Alert;
  /** Epoch ms. */
  readonly queuedAt: number;
  /** Whether the channel was told nothing of the alert's incident before. */
  readonly opens: boolean;
};

/** The delivery of an incident's first alert on a channel, without a look at the database. */
export function openingDelivery({
  id,
  uid,
  notificationId,
  monitorId,
  alert,
  queuedAt,
}: NewlyQueued): QueuedDelivery {
  return {
    id,
    uid,
    notificationId,
    monitorId,
    alert,
    attempts: 0,
    tries: 0,
    createdAt: queuedAt,
    replayedAt: null,
    hasNewer: false,
    hasNewerOfIncident: false,
    isAnnounced: false,
    thread: null,
    groupUid: null,
  };
}
