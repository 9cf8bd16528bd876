import { insertFor, parametersOf, type QueuedRow } from '../alerts/delivery-queue.ts';
import { recipientOf } from '../declaration/receivers.ts';
import type { SqlStep } from '../store.ts';

const INSERT_PAGE_MAIL = insertFor('page_recipients', '-page_recipients.id');

/**
 * Queues mails of status pages. A mail to a recipient that was removed meanwhile is not queued: its row's `changes` is
 * 0, as it is for a mail whose uid is already queued.
 *
 * @param rows each `notificationId` is a recipient's, see `receivers.ts`
 */
export function insertPageMails(rows: readonly QueuedRow[]): SqlStep {
  return {
    sql: INSERT_PAGE_MAIL,
    rows: rows.map((row) => parametersOf(row, recipientOf(row.notificationId))),
  };
}
