import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { channelNamed, type WaitingChannel } from '../store/alerts/delivery-queue.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Deliverer } from './deliverer.ts';
import { queueNotice } from './notices.ts';

/** Time after which an alert that is not delivered raises the alarm, ms. */
const OVERDUE_MS = 120_000;
const LOOK_EVERY_MS = 10_000;

/** A channel with an alert that was not delivered for two minutes. */
export type OverdueChannel = WaitingChannel;

export type OverdueParts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly log: Logger;
  /** Address that messages of svc about itself show. */
  readonly publicUrl: string;
  readonly deliverer: Pick<Deliverer, 'waitingChannels' | 'ageOf' | 'deliverQueued'>;
};

/**
 * The coordinator's own alarm about alerts that do not arrive: in its log and metrics, in `/v1/system`, and to
 * the people of the workspace by its other channels. Each channel raises it once, until nothing of it is
 * overdue. Channels that become overdue together come as one message.
 */
export class OverdueAlerts {
  readonly #parts: OverdueParts;
  /** By channel. */
  readonly #raised = new Map<number, OverdueChannel>();
  /** As of the last look. */
  #waiting: readonly WaitingChannel[] = [];
  #cancelTimer: () => void = () => {};
  #telling: Promise<void> = Promise.resolve();
  #looking: Promise<void> | null = null;

  constructor(parts: OverdueParts) {
    this.#parts = parts;
  }

  /** The channels whose alerts are overdue. */
  get channels(): readonly OverdueChannel[] {
    return [...this.#raised.values()];
  }

  /** Pairs of monitor and channel with pending deliveries, and the age of the oldest, ms; at most 10 s old. */
  get waiting(): { readonly lanes: number; readonly oldestMs: number } {
    let lanes = 0;
    let oldest = Number.POSITIVE_INFINITY;
    for (const channel of this.#waiting) {
      lanes += channel.lanes;
      oldest = Math.min(oldest, channel.oldestQueuedAt);
    }
    return { lanes, oldestMs: lanes === 0 ? 0 : this.#parts.deliverer.ageOf(oldest) };
  }

  start(): void {
    this.#cancelTimer = this.#parts.clock.every(LOOK_EVERY_MS, () => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    });
  }

  async stop(): Promise<void> {
    this.#cancelTimer();
    await this.#looking;
    await this.#telling;
  }

  async #look(): Promise<void> {
    const { log, deliverer } = this.#parts;
    try {
      this.#waiting = await deliverer.waitingChannels();
      this.#raiseOverdue();
    } catch (error) {
      log.error({ error: messageOf(error) }, 'cannot see which alerts wait: svc tries again');
    }
  }

  #raiseOverdue(): void {
    const { clock, log } = this.#parts;
    const before = clock.wall() - OVERDUE_MS;
    const overdue = new Map<number, OverdueChannel>();
    for (const channel of this.#waiting) {
      if (channel.oldestQueuedAt <= before) overdue.set(channel.notificationId, channel);
    }
    const raised = [...overdue.values()].filter(({ notificationId }) => !this.#raised.has(notificationId));
    for (const channel of raised) this.#raise(channel);
    const ofOne = Map.groupBy(raised, ({ workspaceId, notificationId }) => workspaceId ?? -notificationId);
    for (const channels of ofOne.values()) this.#telling = this.#telling.then(() => this.#tell(channels));
    for (const id of this.#raised.keys()) {
      if (overdue.has(id)) continue;
      log.info({ notificationId: id }, 'no alert of the channel is overdue any more');
    }
    this.#raised.clear();
    for (const [id, channel] of overdue) this.#raised.set(id, channel);
  }

  #raise({ notificationId, oldestQueuedAt, lanes }: OverdueChannel): void {
    this.#parts.log.error(
      { notificationId, monitors: lanes, since: new Date(oldestQueuedAt).toISOString() },
      'alerts of a channel are not delivered since two minutes',
    );
  }

  /** Channels of one workspace: a network that is down makes all of them overdue, which is one message. */
  async #tell(channels: readonly OverdueChannel[]): Promise<void> {
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

/** Most channels that one message names. */
const MOST_NAMED = 10;

type NamedChannel = OverdueChannel & { readonly name: string };

/** Those that were not removed meanwhile; the first ones with their names, the others as they were. */
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
  const lanes = Math.max(...channels.map((channel) => channel.lanes));
  const since = new Date(Math.min(...channels.map(({ oldestQueuedAt }) => oldestQueuedAt))).toISOString();
  const tried = 'They are tried again for a day.';
  if (channels.length > 1) {
    const title = `Alerts do not reach ${channels.length} notification channels`;
    return { title, lines: [`${names}.`, `The oldest alert waits since ${since}.`, tried] };
  }
  const monitors = lanes === 1 ? 'one monitor' : `${lanes} monitors`;
  return {
    title: `Alerts do not reach the notification channel ${names}`,
    lines: [`Alerts of ${monitors} wait, the oldest since ${since}.`, tried],
  };
}
