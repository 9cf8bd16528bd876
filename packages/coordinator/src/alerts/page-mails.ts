import type { Alert, PageMail } from '@svc/shared/channels/alert.ts';
import { type NewlyQueued, queueDeliveries } from '../store/alerts/delivery-queue.ts';
import { receiverOf } from '../store/declaration/channels.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { insertPageMails } from '../store/pages/page-recipients.ts';
import type { Transaction } from '../store/store.ts';

/**
 * Ids of the two queues of a recipient. A delivery has such an id in place of a monitor's id. With two queues,
 * a mail with a link that the visitor requested does not wait until earlier news are delivered.
 */
const QUEUES = { links: -1, news: 0 } as const;

/** A mail of a status page before it is queued. */
export type PageMailToQueue = {
  readonly recipientId: number;
  /** Unique id of this mail. A second mail with the same uid is not queued. */
  readonly uid: string;
  readonly queue: keyof typeof QUEUES;
  readonly mail: PageMail;
  /** The URL that the mail's button opens. The query of the URL counts as a secret, and is stored encrypted. */
  readonly link: string;
};

export type PageMailParts = {
  readonly secrets: Secrets;
  /** Called for each queued mail after the commit. */
  readonly onQueued: (queued: NewlyQueued) => void;
};

/**
 * Queues mails in the outbox of alerts. So mails are as durable as alerts: svc tries to send them for
 * a day, and records each attempt in the ledger. A mail is left out if its recipient was removed.
 *
 * @param at time of queueing, epoch ms
 */
export async function queuePageMails(
  tx: Transaction,
  { secrets, onQueued }: PageMailParts,
  mails: readonly PageMailToQueue[],
  at: number,
): Promise<void> {
  if (mails.length === 0) return;
  const queued = mails.map((each) => ({
    uid: each.uid,
    notificationId: receiverOf(each.recipientId),
    monitorId: QUEUES[each.queue],
    alert: alertOf(each, at),
    queuedAt: at,
  }));
  await queueDeliveries(tx, { secrets, insert: insertPageMails, onQueued }, queued);
}

function alertOf({ mail, link, uid, queue }: PageMailToQueue, at: number): Alert {
  return {
    monitor: { id: QUEUES[queue], name: mail.subject, url: link, type: 'http' },
    // With the status `recovered`, the mail would be left
    // out, because no earlier mail announced its incident.
    status: 'error',
    cronTimestamp: Math.floor(at),
    at: Math.floor(at),
    reason: 'letter',
    incident: `letter-${uid}`,
    regions: [],
    letter: mail,
  };
}
