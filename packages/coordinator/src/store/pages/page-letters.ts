import { insertFor, parametersOf, type QueuedRow } from '../alerts/delivery-queue.ts';
import { recipientOf } from '../declaration/receivers.ts';
import type { SqlStep } from '../store.ts';

const INSERT_LETTER = insertFor('page_recipients', '-page_recipients.id');

/**
 * Queues mails of status pages. One to a recipient that was removed meanwhile is not queued: its row's `changes` is 0,
 * as for one whose uid is queued already.
 *
 * @param rows whose receivers are recipients
 */
export function insertLetters(rows: readonly QueuedRow[]): SqlStep {
  return { sql: INSERT_LETTER, rows: rows.map((row) => parametersOf(row, recipientOf(row.notificationId))) };
}
