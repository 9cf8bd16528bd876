import type {
  AnnouncedIncident,
  AttemptEntry,
  ChannelState,
  DeliveryStep,
} from '../store/alerts/delivery-ledger.ts';
import type { QueuedDelivery } from '../store/alerts/delivery-queue.ts';
import { DELIVERY_LIFETIME_MS, nextAttemptAt, OWN_FAILURE_WAIT_MS } from '../verdict/backoff.ts';
import { supersededBy } from '../verdict/superseding.ts';
import { type ChannelFacts, reasonOf, type SendResult } from './channel.ts';

/*
 * The life of a delivery, as pure functions.
 *
 *     pending ── leftOutStep ──▶ superseded, or dead (its channel is stopped)
 *        │ sent
 *        └────── nextStep ─────▶ delivered, dead, or pending until its next attempt
 *
 * A person may replay a dead delivery, which makes it pending again.
 */

/** Minimum time between two answers that call an address dead before the address counts as dead, ms. */
const DOUBT_MS = 5 * 60_000;

/** An attempt that has ended. */
export type EndedAttempt = {
  /** Start of the attempt, epoch ms. */
  readonly at: number;
  readonly durationMs: number;
  readonly result: SendResult;
};

export type Moment = {
  /** End of the attempt, epoch ms. */
  readonly now: number;
  /** Time since the delivery was queued or replayed, ms. */
  readonly ageMs: number;
  /** A random number, uniform in [0, 1). It spreads the attempts of many deliveries over time. */
  readonly random: number;
  /** Whether the message also had alerts of other monitors. */
  readonly isOfMany: boolean;
};

/** The step that follows from an attempt. It ends the delivery if its `nextAttemptAt` is null. */
export function nextStep(delivery: QueuedDelivery, attempt: EndedAttempt, moment: Moment): DeliveryStep {
  const result = moment.isOfMany ? ofOne(attempt.result) : attempt.result;
  const { id: deliveryId, newestId, attempts, notificationId, monitorId, replayedAt } = delivery;
  const next = retryAt(delivery, result, moment);
  const isAttempt = result.outcome !== 'not-sent';
  return {
    deliveryId,
    newestId,
    pair: { notificationId, monitorId },
    attempt: isAttempt ? { deliveryId, number: attempts + 1, ...attemptEntry({ ...attempt, result }) } : null,
    error: errorOf(result),
    state: next === null ? finalState(result) : 'pending',
    nextAttemptAt: next,
    waitMs: next === null ? null : next - moment.now,
    // A user starts a replay, like a test. So a replay that is delivered also starts a stopped channel again.
    channel: replayedAt === null ? channelState(result) : testedState(result),
    announced: announcedBy(delivery, result),
    kept: result.outcome === 'delivered' ? (result.kept ?? null) : null,
    isGroupKept: next !== null && mayHaveArrived(result),
  };
}

/**
 * The result for one member of a group. If a whole group was refused, the content
 * of one member may be the reason. So each member is tried again by itself.
 */
function ofOne(result: SendResult): SendResult {
  if (result.outcome !== 'permanent-message') return result;
  return { ...result, outcome: 'retry', reason: reasonOf(result) ?? 'refused' };
}

function retryAt(
  { tries }: QueuedDelivery,
  result: SendResult,
  { now, ageMs, random }: Moment,
): number | null {
  if (result.outcome === 'not-sent') {
    return ageMs >= DELIVERY_LIFETIME_MS ? null : now + OWN_FAILURE_WAIT_MS;
  }
  if (result.outcome !== 'retry') return null;
  return nextAttemptAt({ attempts: tries + 1, ageMs, now, retryAfterMs: result.retryAfterMs, random });
}

const SUPERSEDED = {
  newer: 'a newer alert of the incident took its place',
  old: 'it waited for more than an hour, and a newer alert followed',
  'never-announced': 'the channel has had no alert of the incident',
  over: 'the incident is over or acknowledged, or the channel is no longer told of it',
  'not-human': 'channels of this kind get no notices',
} as const;

/**
 * The step that ends a delivery without sending it; null: the delivery is sent.
 *
 * @param channel.facts       null: this version does not know the kind
 * @param moment.ageMs        time since the delivery was queued, ms
 * @param moment.lastIdBefore the highest id of a delivery that was queued
 *   before the start. A process that was killed may have sent such a delivery
 *   without a record, so the channel may know the incident and must get its end
 */
export function leftOutStep(
  delivery: QueuedDelivery,
  channel: { readonly facts: ChannelFacts | null; readonly stoppedFor: string | null },
  moment: { readonly ageMs: number; readonly lastIdBefore: number },
): DeliveryStep | null {
  const { alert, replayedAt, id } = delivery;
  const isReplayed = replayedAt !== null;
  if (channel.stoppedFor !== null && !isReplayed) {
    return ended(delivery, 'dead', `the channel is stopped: ${channel.stoppedFor}`, false);
  }
  if (alert === null || channel.facts === null) return null;
  const isEnd = alert.status === 'recovered' || alert.notice?.isOver === true;
  const isReminder = alert.reminder !== undefined;
  // A message of svc about itself has no facts. It is sent even if the channel's kind was changed meanwhile.
  const isNotice = alert.notice?.facts !== undefined;
  const waiting = { ...delivery, isEnd, isReminder, isNotice, isReplayed, ageMs: moment.ageMs };
  const superseded = supersededBy(waiting, channel.facts);
  if (superseded === null) return null;
  const mayHaveArrived = superseded !== 'never-announced' && id <= moment.lastIdBefore;
  return ended(delivery, 'superseded', SUPERSEDED[superseded], mayHaveArrived);
}

function ended(
  { id: deliveryId, newestId, notificationId, monitorId, alert }: QueuedDelivery,
  state: 'dead' | 'superseded',
  error: string,
  mayHaveArrived: boolean,
): DeliveryStep {
  return {
    deliveryId,
    newestId,
    pair: { notificationId, monitorId },
    attempt: null,
    error,
    state,
    nextAttemptAt: null,
    waitMs: null,
    channel: null,
    announced: mayHaveArrived && alert !== null ? { incident: alert.incident, thread: null } : null,
    kept: null,
    isGroupKept: false,
  };
}

/**
 * The result, judged together with earlier answers of the channel. A second answer that calls
 * the address dead, at least 5 minutes after the first, stops the channel. An answer to
 * former settings never stops the channel, because it says nothing about the present address.
 *
 * @param isFormer  whether the settings were changed during the attempt
 * @param doubtedMs time since the first answer that called the address
 *   dead after the last success, ms; null: there was no such answer
 */
export function inContext(
  result: SendResult,
  { isFormer, doubtedMs }: { readonly isFormer: boolean; readonly doubtedMs: number | null },
): SendResult {
  if (isFormer) return result.outcome === 'permanent-channel' ? { ...result, outcome: 'retry' } : result;
  if (result.outcome !== 'retry' || result.mayBeDead !== true) return result;
  if (doubtedMs === null || doubtedMs < DOUBT_MS) return result;
  const { mayBeDead: _mayBe, retryAfterMs: _wait, ...answer } = result;
  return { ...answer, outcome: 'permanent-channel' };
}

export function attemptEntry({
  at,
  durationMs,
  result,
}: EndedAttempt): Omit<AttemptEntry, 'deliveryId' | 'number'> {
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

/** The final state of a delivery that is not tried again. */
export function finalState(result: SendResult): 'delivered' | 'dead' {
  return result.outcome === 'delivered' ? 'delivered' : 'dead';
}

/**
 * The state of the channel after an attempt; null: unchanged. Neither a refusal of the
 * content nor the answer "too many requests" says anything about the channel.
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

/** The state of the channel after a test. A test that is delivered starts a stopped channel again. */
export function testedState(result: SendResult): ChannelState | null {
  return result.outcome === 'delivered' ? { state: 'taken-up', reason: null } : channelState(result);
}

/**
 * The incident that this attempt announced to the channel, or may have
 * announced to it for the first time; null: there is no such incident.
 */
function announcedBy({ alert, isAnnounced }: QueuedDelivery, result: SendResult): AnnouncedIncident | null {
  if (alert === null) return null;
  const { incident } = alert;
  if (result.outcome === 'delivered') return { incident, thread: result.thread ?? null };
  return isAnnounced || !mayHaveArrived(result) ? null : { incident, thread: null };
}

/** Whether the receiver may have got the alert, although its confirmation did not arrive. */
function mayHaveArrived(result: SendResult): boolean {
  return reasonOf(result) === 'unanswered';
}

function errorOf(result: SendResult): string | null {
  return result.outcome === 'delivered' ? null : result.error;
}
