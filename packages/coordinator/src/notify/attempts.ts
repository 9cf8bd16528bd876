import type { AttemptEntry, AttemptRecord, ChannelState, QueuedDelivery } from '../store/delivery-ledger.ts';
import type { SendResult } from './channel.ts';

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
export function attemptRecord(finished: FinishedAttempt): AttemptRecord {
  const { delivery, result, nextAttemptAt } = finished;
  const { id: deliveryId, attempts, notificationId, monitorId } = delivery;
  return {
    lane: { notificationId, monitorId },
    attempt: { deliveryId, number: attempts + 1, ...attemptEntry(finished) },
    state: nextAttemptAt === null ? finalState(result) : 'pending',
    nextAttemptAt,
    channel: channelState(result),
  };
}

export function attemptEntry({
  at,
  durationMs,
  result,
}: Pick<FinishedAttempt, 'at' | 'durationMs' | 'result'>): Omit<AttemptEntry, 'deliveryId' | 'number'> {
  const { outcome, statusCode = null } = result;
  return { at, durationMs, outcome, statusCode, error: errorOf(result) };
}

/** The final state of a delivery that is not tried again. */
export function finalState(result: SendResult): 'delivered' | 'dead' {
  return result.outcome === 'delivered' ? 'delivered' : 'dead';
}

/**
 * The state of the channel after an attempt. A message that is refused for its own content says nothing about
 * the channel: null.
 */
export function channelState(result: SendResult): ChannelState | null {
  if (result.outcome === 'permanent-message') return null;
  return { state: result.outcome === 'delivered' ? 'ok' : 'failing', reason: errorOf(result) };
}

function errorOf(result: SendResult): string | null {
  return result.outcome === 'delivered' ? null : result.error;
}
