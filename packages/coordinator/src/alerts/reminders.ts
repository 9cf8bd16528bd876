import type { Alert } from '@svc/shared/channels/alert.ts';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { insertDeliveries, type NewlyQueued, queueDeliveries } from '../store/alerts/delivery-queue.ts';
import {
  type DueReminder,
  dueReminders,
  type ReminderPlace,
  storeReminders,
} from '../store/alerts/reminders.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store } from '../store/store.ts';
import { alertOf as alertOfStatus } from '../verdict/announcing.ts';
import type { DerivedIds } from '../verdict/derived-ids.ts';
import type { LiveMonitors } from '../verdict/monitor.ts';
import type { RegionSet } from '../verdict/region-set.ts';
import type { Shard } from '../verdict/shard.ts';
import type { States } from '../verdict/state.ts';
import { countedVotes } from '../verdict/verdicts.ts';
import { closesIncidents } from './registry.ts';

const LOOK_EVERY_MS = 30_000;
/** Maximum number of reminders in one transaction. */
const REMINDERS_PER_TRANSACTION = 100;
/** The kinds that get no reminders. Their vendors remind people of incidents that are not acknowledged. */
const NEVER_REMINDED = CHANNEL_KINDS.filter(closesIncidents);

export type RemindersParts = {
  readonly shard: Shard;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly ids: Pick<DerivedIds, 'reminderId'>;
  readonly states: Pick<States, 'get'>;
  readonly monitors: Pick<LiveMonitors, 'get'>;
  readonly clock: Clock;
  readonly slotClock: { now(): number; readonly jumpedMs: number };
  readonly log: Logger;
  /** The regions that had an agent within 24 h. */
  readonly electable: () => RegionSet;
  /** Whether alerts about the monitor are held now. */
  readonly isHeld: (monitorId: number) => boolean;
  readonly onQueued: (queued: NewlyQueued) => void;
};

/**
 * Repeats alerts about open incidents of one shard that are not acknowledged, for channels with `remind_every`.
 *
 *     rows: links, incidents, reminders ──▶ due ──▶ one transaction: the reminders that were sent, their deliveries
 *
 * The rows say which reminders are due, so any coordinator may acknowledge an incident, and the next leader
 * continues. A due reminder waits while announcements about the monitor are held, and while its status is
 * `unknown`.
 *
 * The transaction checks again that the alert is open. The leader of the shard runs one transaction after the
 * other. So a recovery is either committed before this check, or queued behind the reminder. In the second
 * case, a reminder that still waits is left out.
 */
export class Reminders {
  readonly #parts: RemindersParts;
  #cancelTimer: () => void = () => {};
  #looking: Promise<void> | null = null;
  #isStopped = false;

  constructor(parts: RemindersParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#cancelTimer = this.#parts.clock.every(LOOK_EVERY_MS, () => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#looking;
  }

  /** Resolves when the search in progress has ended. */
  async looked(): Promise<void> {
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { store, shard, clock, log } = this.#parts;
    const search = { exceptKinds: NEVER_REMINDED, limit: REMINDERS_PER_TRANSACTION, now: clock.wall() };
    try {
      for (let after: ReminderPlace | null = null; !this.#isStopped; ) {
        const due: readonly DueReminder[] = await dueReminders(store, shard, { ...search, after });
        await this.#queue(due);
        if (due.length < REMINDERS_PER_TRANSACTION) return;
        after = due.at(-1) ?? null;
      }
    } catch (error) {
      log.error({ error: messageOf(error) }, 'cannot queue reminders of alerts: svc tries again');
    }
  }

  async #queue(due: readonly DueReminder[]): Promise<void> {
    const { store, secrets, ids, clock, isHeld, onQueued } = this.#parts;
    // The alerts are made at once, because the next commit changes the votes in place.
    const ready = due.flatMap((reminder) => {
      const alert = isHeld(reminder.monitorId) ? null : this.#alertOf(reminder);
      return alert === null ? [] : [{ reminder, alert }];
    });
    if (ready.length === 0) return;
    const queuedAt = Math.floor(clock.wall());
    await store.transaction(async (tx) => {
      const reminders = ready.map(({ reminder }) => reminder);
      const areStored = await storeReminders(tx, reminders, queuedAt);
      const deliveries = ready
        .filter((_, index) => areStored[index])
        .map(({ reminder, alert }) => {
          const { monitorId, notificationId, number } = reminder;
          return { uid: ids.reminderId(reminder, number), notificationId, monitorId, alert, queuedAt };
        });
      await queueDeliveries(tx, { secrets, insert: insertDeliveries, onQueued }, deliveries);
    });
  }

  /** The announced alert with the present facts; null: the monitor was removed, or its status is `unknown`. */
  #alertOf({ monitorId, announced, incident, since, number }: DueReminder): Alert | null {
    const { states, monitors, clock, slotClock, electable } = this.#parts;
    const state = states.get(monitorId);
    const monitor = monitors.get(monitorId);
    if (state === undefined || monitor === undefined || state.status === 'unknown') return null;
    const moment = { electable: electable(), now: clock.monotonic() + slotClock.jumpedMs };
    const votes = countedVotes(moment, state, monitor);
    const { reason } = state;
    const at = state.status === announced ? state.since : since;
    const alert = alertOfStatus({ monitor, status: announced, votes, at, reason, incident, since });
    return { ...alert, reminder: { number, lastsMs: Math.max(0, slotClock.now() - since) } };
  }
}
