import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { derivedUuid } from '@svc/shared/ids.ts';
import { jsonOrUndefined } from '@svc/shared/json.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { type PageMailToQueue, queuePageMails } from '../../alerts/page-mails.ts';
import { storedIn } from '../../declaration/reading.ts';
import type { NewlyQueued } from '../../store/alerts/delivery-queue.ts';
import { findResource } from '../../store/declaration/resources.ts';
import type { Secrets } from '../../store/declaration/secrets.ts';
import {
  advanceAnnouncement,
  beginTellingUpdates,
  beginTellingWindows,
  forgetHiddenMonitors,
  oldestAnnouncement,
  pagesOfIncident,
  type StoredAnnouncement,
  storeToldStatuses,
  storeToldUpdates,
  untoldChanges,
  untoldUpdates,
} from '../../store/pages/page-announcements.ts';
import {
  type MailPage,
  mailPage,
  type Recipient,
  subscribersAfter,
} from '../../store/pages/page-recipients.ts';
import type { Store, Transaction } from '../../store/store.ts';
import type { DerivedIds } from '../../verdict/derived-ids.ts';
import { declaredAccess, isEntitled } from '../access/credential.ts';
import { languageOf } from '../text/texts.ts';
import { wordsOf } from '../words.ts';
import {
  type Announcement,
  announcement as announcementSchema,
  LATE_MS,
  storeAnnouncement,
} from './announcements.ts';
import { pageUrl, tokenUrl, unsubscribeToken } from './mail-links.ts';
import { newsMail } from './mail-texts.ts';
import { announceWindows, unannouncedWindows } from './window-announcements.ts';

/**
 * Time between two searches for news, ms. A change of status that is reversed before the next
 * search is not announced. All changes on one page between two searches are announced in one mail.
 */
const SEARCH_EVERY_MS = 20_000;
/** Maximum number of mails that one transaction queues. Queueing so many takes some ms. */
const MAILS_PER_TRANSACTION = 100;

export type NewsParts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly ids: Pick<DerivedIds, 'newsId'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly publicUrl: string;
  /** Key of the tokens that end subscriptions, 32 bytes. */
  readonly key: Secret<Uint8Array>;
  /**
   * Whether this object also announces updates and windows, and queues the mails. Only the
   * object of shard 0 does so. The objects of other shards announce only changes of status.
   */
  readonly isOfInstallation: boolean;
  /**
   * Whether news about the monitor are held now: by maintenance, by a backlog, or after a start.
   * True also for monitors of other shards, because their own leaders announce their changes.
   */
  readonly isHeld: (monitorId: number) => boolean;
  readonly onQueued: (queued: NewlyQueued) => void;
};

/**
 * Sends the subscribers of status pages news by mail.
 *
 *     statuses that differ from the announced ones ──▶ announcement ──▶ outbox: a mail for each subscriber
 *     an operator's update ─────────────────────────────▲
 *     maintenance that is planned, begins, ends ────────▲
 *
 * An announcement and the state that it announces are stored in one
 * transaction. Its mails are queued in transactions of at most 100 mails each.
 * So if the process is killed, no news is lost and no news is sent twice.
 */
export class PageNews {
  readonly #parts: NewsParts;
  #cancel: () => void = () => {};
  #looking: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #isStopped = false;
  #hasBegun = false;

  constructor(parts: NewsParts) {
    this.#parts = parts;
  }

  /** Searches for news now and every 20 s, and announces them. */
  start(): void {
    this.#cancel = this.#parts.clock.every(SEARCH_EVERY_MS, () => this.findNews());
    this.findNews();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#looking;
  }

  /** Searches for news at once, or right after the search that is running. */
  findNews(): void {
    if (this.#isWaiting || this.#isStopped) return;
    this.#isWaiting = true;
    this.#looking = this.#looking.then(async () => {
      this.#isWaiting = false;
      await this.#lookNow();
    });
  }

  /** Resolves when all searches for news that were requested so far have queued their mails. */
  async newsQueued(): Promise<void> {
    await this.#looking;
  }

  async #lookNow(): Promise<void> {
    const { log, store } = this.#parts;
    try {
      const source = { read: store.work };
      if ((await untoldChanges(source, this.#parts.isHeld)).length > 0)
        await store.transaction((tx) => this.#announceChanges(tx));
      if (!this.#parts.isOfInstallation) return;
      if (!this.#hasBegun) await store.transaction((tx) => this.#beginAnnouncing(tx));
      this.#hasBegun = true;
      if ((await untoldUpdates(source)).length > 0)
        await store.transaction((tx) => this.#announceUpdates(tx));
      if ((await unannouncedWindows(source, this.#parts.clock.wall())).length > 0)
        await store.transaction((tx) => announceWindows(tx, this.#parts.clock.wall()));
      while (!this.#isStopped && (await this.#queueSome())) {
        // Each turn of the loop is one transaction.
      }
    } catch (error) {
      log.error({ error: messageOf(error) }, 'sending news of status pages failed: svc tries again');
    }
  }

  /**
   * Announces changes of status. The transaction reads the
   * statuses again, so that no change is announced twice.
   */
  async #announceChanges(tx: Transaction): Promise<void> {
    await forgetHiddenMonitors(tx);
    const found = await untoldChanges(tx, this.#parts.isHeld);
    if (found.length === 0) return;
    const at = Math.floor(this.#parts.clock.wall());
    for (const [pageId, ofPage] of Map.groupBy(found, (change) => change.pageId)) {
      const changes = ofPage.map(({ name, status }) => ({ name, status }));
      const identities = ofPage.flatMap(({ monitorId, status, statusSlot }) => [
        monitorId,
        status,
        statusSlot,
      ]);
      const uid = derivedUuid(['changes', pageId, ...identities]);
      await storeAnnouncement(tx, { uid, pageId, announcement: { kind: 'changes', at, changes } }, at);
    }
    await storeToldStatuses(tx, found);
  }

  /** Announces the updates that operators wrote, to each page that shows the incident. */
  async #announceUpdates(tx: Transaction): Promise<void> {
    const at = Math.floor(this.#parts.clock.wall());
    const updates = await untoldUpdates(tx);
    for (const { update, incident } of updates) {
      if (update.at < update.created_at - LATE_MS) continue;
      for (const { pageId, monitorName, components } of await pagesOfIncident(tx, { update, incident })) {
        const title = incident.title ?? monitorName;
        if (title === null) continue;
        const { state, text, at: happened } = update;
        const uid = derivedUuid(['update', update.id, update.created_at, pageId]);
        const content: Announcement = {
          kind: 'update',
          at: happened,
          title,
          state,
          text,
          components: [...components],
        };
        await storeAnnouncement(tx, { uid, pageId, announcement: content }, at);
      }
    }
    const last = updates.at(-1);
    if (last !== undefined) await storeToldUpdates(tx, last.update.id);
  }

  async #beginAnnouncing(tx: Transaction): Promise<void> {
    await beginTellingUpdates(tx);
    await beginTellingWindows(tx, this.#parts.clock.wall());
  }

  /**
   * Queues some mails of the oldest announcement.
   *
   * @returns false: there is no announcement
   */
  async #queueSome(): Promise<boolean> {
    const { store, clock } = this.#parts;
    return store.transaction(async (tx) => {
      const stored = await oldestAnnouncement(tx);
      if (stored === null) return false;
      const { id, pageId, afterRecipient } = stored;
      const page = await mailPage(tx, pageId);
      const recipients =
        page === null ? [] : await subscribersAfter(tx, pageId, afterRecipient, MAILS_PER_TRANSACTION);
      if (page !== null) {
        const mails = this.#mailsOf(stored, page, await this.#entitled(tx, page, recipients));
        await queuePageMails(tx, this.#parts, mails, clock.wall());
      }
      const last = recipients.at(-1);
      const isOver = last === undefined || recipients.length < MAILS_PER_TRANSACTION;
      await advanceAnnouncement(tx, id, isOver ? null : last.id);
      return true;
    });
  }

  /**
   * Returns those recipients who may see the page as it is declared
   * now. The page may have become private after they subscribed.
   */
  async #entitled(
    tx: Transaction,
    { id, workspaceId }: MailPage,
    recipients: readonly Recipient[],
  ): Promise<readonly Recipient[]> {
    const { secrets, key } = this.#parts;
    const row = await findResource(tx, 'status_pages', workspaceId, id);
    const reading = { source: tx, secrets, shown: 'open' } as const;
    const [page] = row === undefined ? [] : await storedIn(reading, 'status_pages', [row]);
    if (page === undefined) return [];
    const access = declaredAccess(page);
    return recipients.filter((recipient) => isEntitled({ id, access }, key, recipient));
  }

  #mailsOf(stored: StoredAnnouncement, page: MailPage, recipients: readonly Recipient[]): PageMailToQueue[] {
    const { publicUrl, ids, key, log } = this.#parts;
    const parsed = announcementSchema.safeParse(jsonOrUndefined(stored.content));
    if (!parsed.success) {
      log.error(
        { announcement: stored.id },
        'this version of svc cannot read an announcement: it is not sent',
      );
      return [];
    }
    return recipients.map((recipient) => ({
      recipientId: recipient.id,
      uid: ids.newsId(stored.uid, recipient.id),
      queue: 'news',
      mail: newsMail(page, wordsOf(languageOf(recipient.language, undefined)), parsed.data, {
        url: tokenUrl(page, publicUrl, '/unsubscribe', unsubscribeToken(key, recipient.id)),
      }),
      link: pageUrl(page, publicUrl),
    }));
  }
}
