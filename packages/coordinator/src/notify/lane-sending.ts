import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import type { ValuesOf } from '@svc/shared/metrics/totals.ts';
import { DELIVERY_LIFETIME_MS, nextAttemptAt } from '../domain/backoff.ts';
import type { DeliveryStep } from '../store/delivery-ledger.ts';
import type { LaneId, QueuedDelivery } from '../store/delivery-queue.ts';
import type { Ages } from './ages.ts';
import type { Attempting } from './attempting.ts';
import { attemptStep, type FinishedAttempt, reasonOf } from './attempts.ts';
import type { SendResult } from './channel.ts';
import type { ChannelQueue, FoundChannel } from './channel-queue.ts';
import { Gathering, type Group } from './gathering.ts';
import { alertOf, Groups, type Member, ofEach, oldestOf, threadOf } from './groups.ts';
import { isFailedBefore, type Lane, ownWait, takeHead } from './lane.ts';
import { learn, ofFormer } from './learning.ts';
import type { Ledger } from './ledger.ts';
import { stepLeftOut } from './left-out.ts';
import type { Turns } from './turns.ts';

type Parts = {
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly turns: Turns;
  readonly ledger: Ledger;
  readonly attempting: Attempting;
  readonly ages: Ages;
  readonly counters: ValuesOf<typeof DELIVERY_COUNTERS>;
  /** Cuts off what is being sent. */
  readonly signal: AbortSignal;
  /** Called after the record of each attempt is committed. */
  readonly onRecorded: (attempt: FinishedAttempt) => void;
};

/**
 * The turn of a lane: its head is read, sent alone or with its group, or left out. The outcome is recorded, and
 * the lane goes on with what comes next.
 */
export class LaneSending {
  /** Deliveries up to this id are from before the start: an unrecorded attempt may have been made. */
  lastIdBefore = 0;
  readonly #parts: Parts;
  readonly #groups = new Groups();
  readonly #gathering: Gathering;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { turns, ledger } = parts;
    this.#gathering = new Gathering({
      turns,
      ledger,
      isSent: (queue, found, { delivery }) => this.#leftOut(queue, found, delivery) === null,
      goOn: (queue, lane) => {
        if (turns.isGoingOn(queue)) turns.makeReady(queue, lane, null);
      },
    });
  }

  /** Makes one attempt for the lane's head, or leaves it out, and records it. All errors end here. */
  async send(queue: ChannelQueue, found: FoundChannel, lane: Lane): Promise<void> {
    const decided = queue.deciding();
    try {
      const delivery = lane.loaded ?? (await this.#head(queue, lane));
      lane.loaded = null;
      decided();
      const step = delivery === null ? null : this.#leftOut(queue, found, delivery);
      if (delivery === null || step !== null) this.#parts.turns.giveBack(queue);
      if (delivery === null) return;
      if (step !== null) {
        if (step.state === 'dead') this.#countStopped();
        return await this.#record(step, (next) => this.#settle(queue, lane, next));
      }
      await this.#sendAs(queue, found, { lane, delivery });
    } catch (error) {
      decided();
      this.#parts.attempting.ownFailure(error, laneOf(lane));
      this.#parts.counters.failures.own += 1;
      if (this.#parts.turns.isGoingOn(queue)) this.#parts.turns.wait(queue, lane, ownWait(lane));
    }
  }

  #leftOut(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery): DeliveryStep | null {
    const ageMs = this.#parts.ages.of(delivery.createdAt);
    return stepLeftOut(queue, found, delivery, { ageMs, lastIdBefore: this.lastIdBefore });
  }

  /** An alert is dead without an attempt, because its channel is stopped. */
  #countStopped(): void {
    this.#parts.counters.failures.stopped += 1;
    this.#parts.counters.dead += 1;
  }

  /** Sends the lane's head alone or with its group, or lets it wait for that. */
  async #sendAs(queue: ChannelQueue, found: FoundChannel, member: Member): Promise<void> {
    const turn = this.#groups.turnOf(queue, found, member, this.#parts.clock.wall());
    if (turn.as === 'alone') {
      return this.#try(queue, found, { members: [member], uid: member.delivery.uid });
    }
    if (turn.as === 'collected') {
      this.#parts.turns.giveBack(queue);
      member.lane.collectedId = member.delivery.id;
      if (this.#parts.turns.isGoingOn(queue)) this.#parts.turns.wait(queue, member.lane, turn.waitMs);
      return;
    }
    queue.isGrouping = true;
    try {
      await this.#try(queue, found, await this.#gathering.of(queue, found, member));
    } finally {
      queue.isGrouping = false;
    }
  }

  /** Makes one attempt for these heads, in one message, and records it for each. */
  async #try(queue: ChannelQueue, found: FoundChannel, { members, uid }: Group): Promise<void> {
    const { clock } = this.#parts;
    const at = clock.wall();
    const startedAt = clock.monotonic();
    const { signal } = this.#parts;
    const { takenUp } = queue;
    for (const { lane } of members) lane.triedAt = startedAt;
    const sent = await this.#parts.attempting.attempt(
      found,
      alertOf(members, this.#parts.ages.of(oldestOf(members))),
      {
        deliveryId: uid,
        attemptAt: at,
        signal,
        thread: threadOf(members),
        kept: found.kept,
      },
    );
    // The stop cut it off, and nobody knows whether it arrived. It stays as it was and is sent again.
    if (signal.aborted && sent.outcome !== 'delivered') return;
    const endedAt = clock.monotonic();
    const answer = takenUp === queue.takenUp ? sent : ofFormer(sent);
    const learned = learn(queue, answer, { startedAt, endedAt }, this.#parts.random);
    const result = ofEach(members, learned);
    // A receiver that has just proved to work takes more at once, also while the record is written.
    this.#parts.turns.resume(queue);
    const durationMs = endedAt - startedAt;
    await Promise.all(
      members.map((member) => this.#recordAttempt(queue, member, { at, durationMs, result })),
    );
    if (result.outcome !== 'delivered') return;
    if (found.stoppedFor !== null) this.#parts.turns.takeUp(queue);
    else this.#parts.turns.wakeLanes(queue, (each) => isFailedBefore(each, startedAt));
  }

  #recordAttempt(
    queue: ChannelQueue,
    { lane, delivery }: Member,
    attempt: Pick<FinishedAttempt, 'at' | 'durationMs' | 'result'>,
  ): Promise<void> {
    const { result } = attempt;
    const next = this.#nextAttempt(queue, lane, delivery, result);
    const finished = { delivery, ...attempt, nextAttemptAt: next };
    return this.#record(attemptStep(finished), (following) => {
      if (next === null) this.#settle(queue, lane, following);
      else this.#again(queue, lane, next, result);
      this.#parts.onRecorded(finished);
    });
  }

  /** Resolves when the step is recorded, or when the stop does not wait for that any more. */
  #record(step: DeliveryStep, settled: (following: QueuedDelivery | null) => void): Promise<void> {
    const { signal } = this.#parts;
    return new Promise((resolve) => {
      const giveUp = () => resolve();
      signal.addEventListener('abort', giveUp, { once: true });
      // After the grace of the stop nobody waits any more. The ledger still tries once when it closes.
      if (signal.aborted) resolve();
      this.#parts.ledger.record(step, (following) => {
        signal.removeEventListener('abort', giveUp);
        settled(following);
        resolve();
      });
    });
  }

  /** The lane's head. Null removes the lane, unless something was queued since the database was asked. */
  async #head(queue: ChannelQueue, lane: Lane): Promise<QueuedDelivery | null> {
    lane.isWoken = false;
    const head = await this.#parts.ledger.head(lane);
    if (head === null) {
      if (lane.isWoken) return this.#head(queue, lane);
      this.#parts.turns.remove(queue, lane);
      return null;
    }
    takeHead(lane, head);
    return head;
  }

  #nextAttempt(queue: ChannelQueue, lane: Lane, delivery: QueuedDelivery, result: SendResult): number | null {
    const { log } = this.#parts;
    if (result.outcome === 'delivered') return null;
    const { id: deliveryId, notificationId, monitorId } = delivery;
    const ids = { deliveryId, notificationId, monitorId };
    const next = this.#retryAt(queue, lane, delivery, result);
    if (next === null) {
      this.#parts.counters.dead += 1;
      log.warn({ ...ids, outcome: result.outcome, reason: result.error }, 'gave up the delivery of an alert');
    } else {
      log.info(
        { ...ids, reason: result.error, nextAttemptAt: next },
        'the delivery of an alert failed: svc tries again later',
      );
    }
    return next;
  }

  #retryAt(
    queue: ChannelQueue,
    lane: Lane,
    { tries, replayedAt, createdAt }: QueuedDelivery,
    result: SendResult,
  ): number | null {
    const { clock } = this.#parts;
    const now = clock.wall();
    const ageMs = this.#parts.ages.of(replayedAt ?? createdAt);
    if (result.outcome === 'not-sent') return ageMs >= DELIVERY_LIFETIME_MS ? null : now + ownWait(lane);
    if (result.outcome !== 'retry') return null;
    return nextAttemptAt({
      attempts: tries + 1,
      ageMs,
      now,
      heldUntil: now + queue.pace.readyAt(clock.monotonic()) - clock.monotonic(),
      isRateLimited: reasonOf(result) === 'rate-limited',
      random: this.#parts.random(),
    });
  }

  /** The head is tried again. A receiver that takes it later holds its channel, and the lane stays ready. */
  #again(queue: ChannelQueue, lane: Lane, next: number, result: SendResult): void {
    if (!this.#parts.turns.isGoingOn(queue)) return;
    if (result.outcome !== 'not-sent') lane.ownFailures = 0;
    if (reasonOf(result) === 'rate-limited') this.#parts.turns.makeReady(queue, lane, null);
    else {
      this.#parts.turns.wait(queue, lane, next - this.#parts.clock.wall());
      // A younger alert came during the attempt.
      if (lane.isWoken) this.#parts.turns.hurry(queue, lane);
    }
  }

  /** Continues the lane right after the commit of its head's end, before a later transaction can wake it. */
  #settle(queue: ChannelQueue, lane: Lane, following: QueuedDelivery | null): void {
    lane.isWoken = false;
    if (!this.#parts.turns.isGoingOn(queue)) return;
    if (following === null) {
      this.#parts.turns.remove(queue, lane);
      return;
    }
    takeHead(lane, following);
    this.#parts.turns.makeReady(queue, lane, following);
  }
}

function laneOf({ notificationId, monitorId }: LaneId): LaneId {
  return { notificationId, monitorId };
}
