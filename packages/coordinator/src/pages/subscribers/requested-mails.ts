import { randomUUID } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { queuePageMails } from '../../alerts/page-mails.ts';
import { insertLink } from '../../store/access/sessions.ts';
import type { NewlyQueued } from '../../store/alerts/delivery-queue.ts';
import type { Secrets } from '../../store/declaration/secrets.ts';
import { askSubscription, type MailPage, mailPage, recipientAt } from '../../store/pages/page-recipients.ts';
import type { Store } from '../../store/store.ts';
import { hashOfSecret, randomSecret } from '../../web/sessions.ts';
import { type MailAddress, mailboxKey, mayGetMail } from '../access/mail-address.ts';
import type { MailLimits } from '../access/visitor-limits.ts';
import type { Words } from '../words.ts';
import { tokenUrl } from './mail-links.ts';
import { confirmationMail, signInMail } from './mail-texts.ts';

/**
 * Maximum number of mails that svc is queueing at the same time.
 * Further mails are dropped, like mails that exceed the rates.
 */
const AT_ONCE = 20;

/**
 * The kinds of mails that visitors request. Each has a link.
 *
 * - `sign-in`: the link opens a session. It is valid for 15 minutes.
 * - `subscribe`: the link confirms a subscription. It is valid for a day.
 */
const KINDS = {
  'sign-in': { lifeMs: 15 * 60_000, path: '/access/link', mail: signInMail },
  subscribe: { lifeMs: 24 * 3_600_000, path: '/subscribe/confirm', mail: confirmationMail },
} as const;
type MailKind = keyof typeof KINDS;

/** Makes the purpose of a one-time link: the kind of its mail, and the page. */
export function linkPurpose(kind: MailKind, pageId: number): string {
  return `page-${kind}:${pageId}`;
}

type LinkDetail = { readonly recipientId: number; readonly credential: string };

function linkDetail({ recipientId, credential }: LinkDetail): string {
  return `${recipientId} ${credential}`;
}

/** Reads the detail of a one-time link that {@link linkDetail} made. */
export function linkDetailIn(detail: string): LinkDetail {
  const [id = '', credential = ''] = detail.split(' ');
  return { recipientId: Number(id), credential };
}

type Parts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly log: Logger;
  readonly publicUrl: string;
  readonly limits: MailLimits;
  readonly onQueued: (queued: NewlyQueued) => void;
};

export type RequestedMail = {
  readonly kind: MailKind;
  /**
   * The page's `credentialVersion` when the visitor
   * requests the mail. A subscription stores this version.
   */
  readonly credential: string;
  readonly pageId: number;
  readonly address: MailAddress;
  readonly words: Words;
};

/**
 * Queues the mails that visitors request. The answer to a visitor does not
 * wait for the mail. So the answer and its time are the same whether a mail
 * is sent or not, and do not show which addresses are known or allowed.
 */
export class RequestedMails {
  readonly #parts: Parts;
  readonly #running = new Set<Promise<void>>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Starts to queue a mail. If a bound is reached, drops the mail and logs a warning. */
  requestMail(mail: RequestedMail): void {
    const { clock, limits, log } = this.#parts;
    const mailbox = mailboxKey(mail.address);
    const reached =
      this.#running.size >= AT_ONCE
        ? 'at-once'
        : limits.countMail({ pageId: mail.pageId, mailbox }, clock.monotonic());
    if (reached !== null) {
      log.warn(
        { page: mail.pageId, bound: reached },
        'a visitor requested a mail beyond a bound: it is not sent',
      );
      return;
    }
    const running = this.#queueMail(mail).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when every requested mail is queued or has failed. */
  async mailsQueued(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #queueMail(mail: RequestedMail): Promise<void> {
    const { store, log } = this.#parts;
    try {
      const page = await mailPage(store, mail.pageId);
      if (page !== null && mayGetMail(mail.address.address, page.mailDomains))
        await this.#storeMail(mail, page);
    } catch (error) {
      // The answer said that a mail comes if it is allowed, and the visitor can request it again.
      log.error({ page: mail.pageId, error: messageOf(error) }, 'queueing a mail to a visitor failed');
    }
  }

  /** Stores the recipient, the link and the mail in one transaction. */
  async #storeMail({ kind, credential, address, words }: RequestedMail, page: MailPage): Promise<void> {
    const { store, clock, publicUrl } = this.#parts;
    const { lifeMs, path, mail: mailOf } = KINDS[kind];
    const now = Math.floor(clock.wall());
    const expiresAt = now + lifeMs;
    const secret = randomSecret();
    await store.transaction(async (tx) => {
      const { language } = words;
      const recipient = await recipientAt(tx, { pageId: page.id, address: address.address, language }, now);
      if (kind === 'subscribe') await askSubscription(tx, recipient.id, language);
      const detail = linkDetail({ recipientId: recipient.id, credential });
      const link = { purpose: linkPurpose(kind, page.id), detail, expiresAt };
      await insertLink(tx, hashOfSecret(secret), link, now);
      const mail = {
        recipientId: recipient.id,
        uid: randomUUID(),
        queue: 'links',
        mail: mailOf(page, words, expiresAt),
        link: tokenUrl(page, publicUrl, path, secret),
      } as const;
      await queuePageMails(tx, this.#parts, [mail], now);
    });
  }
}
