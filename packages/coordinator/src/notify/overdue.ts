import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { Deliverer, WaitingChannel } from './deliverer.ts';
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
  readonly deliverer: Pick<Deliverer, 'waiting' | 'wake'>;
};

/**
 * The coordinator's own alarm about alerts that do not arrive: in its log and metrics, in `/v1/system`, and to
 * the people of the workspace by its other channels. Each channel raises it once, until nothing of it is
 * overdue.
 */
export class OverdueAlerts {
  readonly #parts: OverdueParts;
  /** By channel. */
  readonly #raised = new Map<number, OverdueChannel>();
  #cancelTimer: () => void = () => {};
  #telling: Promise<void> = Promise.resolve();

  constructor(parts: OverdueParts) {
    this.#parts = parts;
  }

  /** The channels whose alerts are overdue. */
  get channels(): readonly OverdueChannel[] {
    return [...this.#raised.values()];
  }

  start(): void {
    this.#cancelTimer = this.#parts.clock.every(LOOK_EVERY_MS, () => this.#look());
  }

  async stop(): Promise<void> {
    this.#cancelTimer();
    await this.#telling;
  }

  #look(): void {
    const { clock, log, deliverer } = this.#parts;
    const before = clock.wall() - OVERDUE_MS;
    const overdue = new Map<number, OverdueChannel>();
    for (const channel of deliverer.waiting()) {
      if (channel.oldestQueuedAt <= before) overdue.set(channel.notificationId, channel);
    }
    for (const [id, channel] of overdue) if (!this.#raised.has(id)) this.#raise(channel);
    for (const id of this.#raised.keys()) {
      if (overdue.has(id)) continue;
      log.info({ notificationId: id }, 'no alert of the channel is overdue any more');
    }
    this.#raised.clear();
    for (const [id, channel] of overdue) this.#raised.set(id, channel);
  }

  #raise(channel: OverdueChannel): void {
    const { notificationId, oldestQueuedAt, lanes } = channel;
    this.#parts.log.error(
      { notificationId, monitors: lanes, since: new Date(oldestQueuedAt).toISOString() },
      'alerts of a channel have not been delivered for two minutes',
    );
    this.#telling = this.#telling.then(() => this.#tell(channel));
  }

  async #tell({ notificationId, oldestQueuedAt, lanes }: OverdueChannel): Promise<void> {
    const { store, clock, log, deliverer } = this.#parts;
    const parts = { ...this.#parts, onQueued: deliverer.wake.bind(deliverer) };
    const since = Math.floor(oldestQueuedAt);
    try {
      await store.transaction((tx) =>
        queueNotice(tx, parts, {
          notificationId,
          event: `overdue ${notificationId} ${since}`,
          at: clock.wall(),
          text: ({ name }) => ({
            title: `Alerts do not reach the notification channel ${name}`,
            lines: [
              `Alerts of ${lanes === 1 ? 'one monitor' : `${lanes} monitors`} wait, the oldest since ${new Date(since).toISOString()}.`,
              'They are tried again for a day.',
            ],
          }),
        }),
      );
    } catch (error) {
      log.error(
        { error: messageOf(error), notificationId },
        'cannot queue the message about alerts that are not delivered',
      );
    }
  }
}
