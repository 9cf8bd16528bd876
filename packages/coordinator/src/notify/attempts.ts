import type {
  AnnouncedIncident,
  AttemptEntry,
  ChannelState,
  DeliveryStep,
} from '../store/delivery-ledger.ts';
import type { QueuedDelivery } from '../store/delivery-queue.ts';
import type { DeliveryState } from '../store/schema.ts';
import type { FailureReason, SendResult } from './channel.ts';

export type FinishedAttempt = {
  delivery: QueuedDelivery;
  /** Start of the attempt, epoch ms. */
  at: number;
  /** ms */
  durationMs: number;
  result: SendResult;
  /** When the delivery is tried again, epoch ms; null when it is over: delivered or given up. */
  nextAttemptAt: number | null;
};

/** The attempt as the ledger stores it. */
export function attemptStep(finished: FinishedAttempt): DeliveryStep {
  const { delivery, result, nextAttemptAt } = finished;
  const { id: deliveryId, attempts, notificationId, monitorId } = delivery;
  const isAttempt = result.outcome !== 'not-sent';
  return {
    deliveryId,
    lane: { notificationId, monitorId },
    attempt: isAttempt ? { deliveryId, number: attempts + 1, ...attemptEntry(finished) } : null,
    error: errorOf(result),
    state: nextAttemptAt === null ? finalState(result) : 'pending',
    nextAttemptAt,
    // People asked for a replay, as for a test.
    channel: delivery.replayedAt === null ? channelState(result) : testedState(result),
    announced: announcedBy(delivery, result),
    kept: result.outcome === 'delivered' ? (result.kept ?? null) : null,
    isGroupKept: nextAttemptAt !== null && mayHaveArrived(result),
  };
}

/** The end of a delivery for which nothing was sent. */
export function leftOut(
  { id: deliveryId, notificationId, monitorId, alert }: QueuedDelivery,
  state: Extract<DeliveryState, 'dead' | 'superseded'>,
  error: string | null,
  /** Whether the receiver may have it from before a crash. */
  isPerhapsKnown = false,
): DeliveryStep {
  return {
    deliveryId,
    lane: { notificationId, monitorId },
    attempt: null,
    error,
    state,
    nextAttemptAt: null,
    channel: null,
    announced: isPerhapsKnown && alert !== null ? { incident: alert.incident, thread: null } : null,
    kept: null,
    isGroupKept: false,
  };
}

export function attemptEntry({
  at,
  durationMs,
  result,
}: Pick<FinishedAttempt, 'at' | 'durationMs' | 'result'>): Omit<AttemptEntry, 'deliveryId' | 'number'> {
  const { outcome, statusCode = null, reply } = result;
  return {
    at,
    durationMs,
    outcome,
    reason: reasonOf(result),
    statusCode,
    error: errorOf(result),
    reply: reply === undefined || reply === '' ? null : reply,
  };
}

/** Why an attempt failed; null: it did not. */
export function reasonOf(result: SendResult): FailureReason | null {
  if (result.outcome === 'delivered') return null;
  if (result.reason !== undefined) return result.reason;
  if (result.outcome === 'not-sent') return 'own';
  const { statusCode } = result;
  if (statusCode === undefined) return 'unanswered';
  if (statusCode === 429) return 'rate-limited';
  return statusCode >= 500 ? 'receiver' : 'refused';
}

/** The final state of a delivery that is not tried again. */
export function finalState(result: SendResult): 'delivered' | 'dead' {
  return result.outcome === 'delivered' ? 'delivered' : 'dead';
}

/**
 * The state of the channel after an attempt. A message that is refused for its own content says nothing about
 * the channel: null. Neither does a receiver that only takes it later.
 */
function channelState(result: SendResult): ChannelState | null {
  switch (result.outcome) {
    case 'delivered':
      return { state: 'ok', reason: null };
    case 'permanent-message':
      return null;
    case 'permanent-channel':
      return { state: 'stopped', reason: result.error };
    case 'retry':
    case 'not-sent':
      return reasonOf(result) === 'rate-limited' ? null : { state: 'failing', reason: result.error };
    default:
      return result satisfies never;
  }
}

/** The state of the channel after a test: one that is delivered takes up a channel that is stopped. */
export function testedState(result: SendResult): ChannelState | null {
  return result.outcome === 'delivered' ? { state: 'taken-up', reason: null } : channelState(result);
}

/** What the channel knows of the incident after an attempt. */
function announcedBy({ alert, isAnnounced }: QueuedDelivery, result: SendResult): AnnouncedIncident | null {
  if (alert === null) return null;
  const { incident } = alert;
  if (result.outcome === 'delivered') return { incident, thread: result.thread ?? null };
  return isAnnounced || !mayHaveArrived(result) ? null : { incident, thread: null };
}

/** Whether the receiver may have it, although it did not say so. */
function mayHaveArrived(result: SendResult): boolean {
  return reasonOf(result) === 'unanswered';
}

function errorOf(result: SendResult): string | null {
  return result.outcome === 'delivered' ? null : result.error;
}
