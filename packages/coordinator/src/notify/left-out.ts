import { supersededBy } from '../domain/superseding.ts';
import type { DeliveryStep } from '../store/delivery-ledger.ts';
import type { QueuedDelivery } from '../store/delivery-queue.ts';
import { leftOut } from './attempts.ts';
import type { ChannelQueue, FoundChannel } from './channel-queue.ts';

const SUPERSEDED = {
  newer: 'a newer alert of the incident took its place',
  old: 'it waited for more than an hour, and a newer alert followed',
  'never-announced': 'the channel was never told of the incident',
} as const;

/**
 * Why nothing is sent for a delivery, as the step that ends it; null: it is sent.
 *
 * @param ageMs time since it was queued
 * @param lastIdBefore deliveries up to this id are from before the start: a process that was killed may have
 *   sent what it did not record. Then the channel has heard of the incident, and hears of its end
 */
export function stepLeftOut(
  { facts }: Pick<ChannelQueue, 'facts'>,
  { stoppedFor }: Pick<FoundChannel, 'stoppedFor'>,
  delivery: QueuedDelivery,
  { ageMs, lastIdBefore }: { readonly ageMs: number; readonly lastIdBefore: number },
): DeliveryStep | null {
  const { alert, hasNewer, hasNewerOfIncident, isAnnounced, replayedAt, id } = delivery;
  if (stoppedFor !== null && replayedAt === null) {
    return leftOut(delivery, 'dead', `the channel is stopped: ${stoppedFor}`);
  }
  if (alert === null || facts === null) return null;
  const superseded = supersededBy(
    {
      status: alert.status,
      ageMs,
      hasNewer,
      hasNewerOfIncident,
      isAnnounced,
      isReplayed: replayedAt !== null,
    },
    facts,
  );
  if (superseded === null) return null;
  const mayHaveArrived = superseded !== 'never-announced' && id <= lastIdBefore;
  return leftOut(delivery, 'superseded', SUPERSEDED[superseded], mayHaveArrived);
}
