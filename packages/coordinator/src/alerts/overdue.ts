import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { WaitingChannel } from '../store/alerts/delivery-queue.ts';
import { channelNamed } from '../store/declaration/channels.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Deliverer } from './deliverer.ts';
import { type NoticeParts, queueNotice } from './notices.ts';

/** Age of an undelivered alert at which the alarm is raised, ms. */
const OVERDUE_MS = 120_000;
const READ_EVERY_MS = 10_000;

/** A channel with an alert that has waited for two minutes. */
export type OverdueChannel = WaitingChannel;

export type OverdueParts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly ids: NoticeParts['ids'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Public URL of svc, for messages of svc about itself. */
  readonly publicUrl: string;
  readonly deliverer: Pick<Deliverer, 'waitingChannels' | 'ageOf' | 'deliverQueued'>;
};

/**
 * Raises the alarm about alerts that do not arrive. The alarm goes to the log, the metrics and `/v1/system`,
 * and to the other channels of the workspace that people read. It is raised once for each channel, and again
 * only after no alert of the channel was overdue in between. The channels of a workspace that become overdue
 * together share one message, which names ten of them at most.
 */
export class OverdueAlerts {
  readonly #parts: OverdueParts;
  /** The channels whose alarm is raised, by channel id. */
  readonly #raised = new Map<number, OverdueChannel>();
  /**
   * By channel id: when the oldest waiting delivery was queued, epoch
   * ms, and since when svc has seen this delivery wait, monotonic ms.
   */
  readonly #seen = new Map<number, { readonly oldestQueuedAt: number; readonly since: number }>();
  /** The channels with waiting deliveries, as of the last read, which is at most 10 s ago. */
  #waiting: readonly WaitingChannel[] = [];
  #cancelTimer: () => void = () => {};
  #queueing: Promise<void> = Promise.resolve();
  #reading: Promise<void> | null = null;

  constructor(parts: OverdueParts) {
    this.#parts = parts;
  }

  /** The channels with overdue alerts. */
  get channels(): readonly OverdueChannel[] {
    return [...this.#raised.values()];
  }

  /**
   * Number of pairs of monitor and channel with pending deliveries, and age
   * of the oldest such delivery, ms. Both numbers are at most 10 s old.
   */
  get waiting(): { readonly pairs: number; readonly oldestMs: number } {
    let pairs = 0;
    let oldest = Number.POSITIVE_INFINITY;
    for (const channel of this.#waiting) {
      pairs += channel.pairs;
      oldest = Math.min(oldest, channel.oldestQueuedAt);
    }
    return { pairs, oldestMs: pairs === 0 ? 0 : this.#parts.deliverer.ageOf(oldest) };
  }

  start(): void {
    this.#cancelTimer = this.#parts.clock.every(READ_EVERY_MS, () => {
      this.#reading ??= this.#readWaiting().finally(() => {
        this.#reading = null;
      });
    });
  }

  async stop(): Promise<void> {
    this.#cancelTimer();
    await this.#reading;
    await this.#queueing;
  }

  async #readWaiting(): Promise<void> {
    const { log, deliverer } = this.#parts;
    try {
      this.#waiting = await deliverer.waitingChannels();
      this.#raiseOverdue();
    } catch (error) {
      log.error({ error: messageOf(error) }, 'cannot read which alerts wait: svc tries again');
    }
  }

  #raiseOverdue(): void {
    const { log } = this.#parts;
    const overdue = new Map<number, OverdueChannel>();
    for (const channel of this.#waiting) {
      if (this.#waitOf(channel) >= OVERDUE_MS) overdue.set(channel.notificationId, channel);
    }
    const stillWaiting = new Set(this.#waiting.map(({ notificationId }) => notificationId));
    for (const id of this.#seen.keys()) if (!stillWaiting.has(id)) this.#seen.delete(id);
    const raised = [...overdue.values()].filter(({ notificationId }) => !this.#raised.has(notificationId));
    for (const channel of raised) this.#raise(channel);
    const ofOne = Map.groupBy(raised, ({ workspaceId, notificationId }) => workspaceId ?? -notificationId);
    for (const channels of ofOne.values())
      this.#queueing = this.#queueing.then(() => this.#queueMessage(channels));
    for (const id of this.#raised.keys()) {
      if (overdue.has(id)) continue;
      log.info({ notificationId: id }, 'no alert of the channel is overdue any more');
    }
    this.#raised.clear();
    for (const [id, channel] of overdue) this.#raised.set(id, channel);
  }

  /**
   * How long the oldest delivery of the channel has waited, ms. If the wall clock was set
   * back, `ageOf` may be 0. Then the time since this process first saw the delivery counts.
   */
  #waitOf({ notificationId, oldestQueuedAt }: WaitingChannel): number {
    const { clock, deliverer } = this.#parts;
    const now = clock.monotonic();
    const known = this.#seen.get(notificationId);
    const since = known?.oldestQueuedAt === oldestQueuedAt ? known.since : now;
    this.#seen.set(notificationId, { oldestQueuedAt, since });
    return Math.max(deliverer.ageOf(oldestQueuedAt), now - since);
  }

  #raise({ notificationId, oldestQueuedAt, pairs }: OverdueChannel): void {
    this.#parts.log.error(
      { notificationId, monitors: pairs, since: new Date(oldestQueuedAt).toISOString() },
      'alerts of a channel have not been delivered for two minutes',
    );
  }

  /**
   * Queues one message about these channels for the other channels of their
   * workspace: a network that is down makes many channels overdue at once.
   */
  async #queueMessage(channels: readonly OverdueChannel[]): Promise<void> {
    const { store, clock, log, deliverer } = this.#parts;
    const parts = { ...this.#parts, onQueued: deliverer.deliverQueued.bind(deliverer) };
    try {
      await store.transaction(async (tx) => {
        const there = await channelsThere(tx, channels);
        const [first] = there;
        if (first === undefined) return;
        const { notificationId, oldestQueuedAt } = first;
        const event = `overdue ${notificationId} ${Math.floor(oldestQueuedAt)}`;
        await queueNotice(tx, parts, { notificationId, event, at: clock.wall(), text: () => textOf(there) });
      });
    } catch (error) {
      log.error(
        { error: messageOf(error), notificationIds: channels.map(({ notificationId }) => notificationId) },
        'cannot queue the message about alerts that are not delivered',
      );
    }
  }
}

/** Maximum number of channels that one message names. */
const MOST_NAMED = 10;

type NamedChannel = OverdueChannel & { readonly name: string };

/** The channels that were not removed meanwhile. The first ten have their names, the others an empty name. */
async function channelsThere(tx: Transaction, channels: readonly OverdueChannel[]): Promise<NamedChannel[]> {
  const there: NamedChannel[] = [];
  for (const channel of channels) {
    const isShown = there.length < MOST_NAMED;
    const named = isShown ? await channelNamed(tx, channel.notificationId) : { name: '' };
    if (named !== null) there.push({ ...channel, name: named.name });
  }
  return there;
}

/** @param channels at least one */
function textOf(channels: readonly NamedChannel[]): { title: string; lines: string[] } {
  const named = channels.slice(0, MOST_NAMED).map(({ name }) => name);
  const more = channels.length - named.length;
  const names = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const pairs = Math.max(...channels.map((channel) => channel.pairs));
  const since = new Date(Math.min(...channels.map(({ oldestQueuedAt }) => oldestQueuedAt))).toISOString();
  const tried = 'They are tried again for a day.';
  if (channels.length > 1) {
    const title = `Alerts do not reach ${channels.length} notification channels`;
    return { title, lines: [`${names}.`, `The oldest alert waits since ${since}.`, tried] };
  }
  const monitors = pairs === 1 ? 'one monitor' : `${pairs} monitors`;
  return {
    title: `Alerts do not reach the notification channel ${names}`,
    lines: [`Alerts of ${monitors} wait, the oldest since ${since}.`, tried],
  };
}
