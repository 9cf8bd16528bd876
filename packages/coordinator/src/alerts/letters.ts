import type { Alert, Letter } from '@svc/shared/channels/alert.ts';
import { type NewlyQueued, queueDeliveries } from '../store/alerts/delivery-queue.ts';
import { receiverOf } from '../store/declaration/receivers.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { insertLetters } from '../store/pages/page-letters.ts';
import type { Transaction } from '../store/store.ts';

/**
 * The lanes of a recipient: what it asked for never waits behind news that cannot be delivered. They stand in the place
 * of a monitor's id.
 */
const LANES = { links: -1, news: 0 } as const;

/** A mail of a status page. */
export type PageLetter = {
  readonly recipientId: number;
  /** Different for different mails: the same one is queued once. */
  readonly uid: string;
  readonly lane: keyof typeof LANES;
  readonly letter: Letter;
  /** Address of the button. A query in it counts as secret, and is stored sealed. */
  readonly link: string;
};

export type LetterParts = {
  readonly secrets: Secrets;
  /** Called for each queued mail after the commit. */
  readonly onQueued: (queued: NewlyQueued) => void;
};

/**
 * Queues mails in the outbox of alerts, so that they are as durable: they are tried for a day, and each attempt is in
 * the ledger. A mail to a recipient that is gone is left out.
 *
 * @param at epoch ms
 */
export async function queueLetters(
  tx: Transaction,
  { secrets, onQueued }: LetterParts,
  letters: readonly PageLetter[],
  at: number,
): Promise<void> {
  if (letters.length === 0) return;
  const queued = letters.map((each) => ({
    uid: each.uid,
    notificationId: receiverOf(each.recipientId),
    monitorId: LANES[each.lane],
    alert: letterAlert(each, at),
    queuedAt: at,
  }));
  await queueDeliveries(tx, { secrets, insert: insertLetters, onQueued }, queued);
}

function letterAlert({ letter, link, uid, lane }: PageLetter, at: number): Alert {
  return {
    monitor: { id: LANES[lane], name: letter.subject, url: link, type: 'http' },
    // No other status is always sent, whatever was sent before.
    status: 'error',
    cronTimestamp: Math.floor(at),
    at: Math.floor(at),
    reason: 'letter',
    incident: `letter-${uid}`,
    regions: [],
    letter,
  };
}
