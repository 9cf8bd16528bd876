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

/** A channel, or a recipient of a status page, with a delivery that has waited for two minutes. */
export type OverdueChannel = WaitingChannel;

export type OverdueParts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly ids: NoticeParts['ids'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Public URL of svc, for links in messages of svc about itself. */
  readonly publicUrl: string;
  readonly deliverer: Pick<Deliverer, 'waitingChannels' | 'ageOf' | 'deliverQueued'>;
};

/**
 * Raises an alarm about each channel with an alert that has waited for two minutes.
 *
 * The alarm goes to the log, the metrics and `/v1/system`, and as a message to at most 20 other channels of the
 * workspace. Only channels whose messages people read get the message. An alarm is not repeated while the
 * channel has an overdue alert. If several channels of a workspace become overdue together, they share one
 * message, which names at most ten of them. Recipients of status pages raise the alarm too, but without a
 * message.
 */
export class OverdueAlerts {
  readonly #parts: OverdueParts;
  /** The channels whose alarm is raised, by channel id. */
  readonly #raised = new Map<number, OverdueChannel>();
  /**
   * By channel id: when the oldest waiting delivery was queued (`oldestQueuedAt`, epoch
   * ms), and when this process first saw that delivery wait (`since`, monotonic ms).
   */
  readonly #seen = new Map<number, { readonly oldestQueuedAt: number; readonly since: number }>();
  /** The channels with waiting deliveries, as of the last successful read. They are read every 10 s. */
  #waiting: readonly WaitingChannel[] = [];
  #cancelTimer: () => void = () => {};
  #queueing: Promise<void> = Promise.resolve();
  #reading: Promise<void> | null = null;

  constructor(parts: OverdueParts) {
    this.#parts = parts;
  }

  /** The channels whose oldest alert has waited for two minutes or longer. */
  get channels(): readonly OverdueChannel[] {
    return [...this.#raised.values()];
  }

  /**
   * `pairs`: number of pairs of a monitor and a channel with pending deliveries. `oldestMs`: age of
   * the oldest of these deliveries, ms; 0 if there are none. The deliveries are read every 10 s.
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
   * How long the oldest delivery of the channel has waited, ms. The wait is at least the time since
   * this process first saw the delivery. If the wall clock was set back, `ageOf` may return less.
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
   * Queues one message about these channels for other channels of their workspace. The channels
   * share a message because a network that is down makes many channels overdue at once.
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

/**
 * Returns the first ten channels that were not removed meanwhile, with their names, and
 * then all further channels, with an empty name. The further channels are not looked up.
 */
async function channelsThere(tx: Transaction, channels: readonly OverdueChannel[]): Promise<NamedChannel[]> {
  const there: NamedChannel[] = [];
  for (const channel of channels) {
    const isShown = there.length < MOST_NAMED;
    const named = isShown ? await channelNamed(tx, channel.notificationId) : { name: '' };
    if (named !== null) there.push({ ...channel, name: named.name });
  }
  return there;
}

/**
 * The text of the message about these channels.
 *
 * @param channels at least one
 */
function textOf(channels: readonly NamedChannel[]): { title: string; lines: string[] } {
  const named = channels.slice(0, MOST_NAMED).map(({ name }) => name);
  const more = channels.length - named.length;
  const names = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const pairs = Math.max(...channels.map((channel) => channel.pairs));
  const since = new Date(Math.min(...channels.map(({ oldestQueuedAt }) => oldestQueuedAt))).toISOString();
  const tried = 'They are tried again for a day.';
  if (channels.length > 1) {
    const title = `Alerts do not reach ${channels.length} notification channels`;
    return { title, lines: [`${names}.`, `The oldest alert has waited since ${since}.`, tried] };
  }
  const monitors = pairs === 1 ? 'one monitor' : `${pairs} monitors`;
  return {
    title: `Alerts do not reach the notification channel ${names}`,
    lines: [`Alerts of ${monitors} wait, the oldest since ${since}.`, tried],
  };
}
