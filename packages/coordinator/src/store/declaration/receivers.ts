import { type RawBuilder, sql } from 'kysely';

/*
 * Who deliveries go to. Their column `notification_id` has the id of a channel, which is positive, or the negated id of
 * a recipient of a status page's mails. So both have one outbox and one ledger.
 */

/** The receiver that a recipient is. */
export function receiverOf(recipientId: number): number {
  return -recipientId;
}

/** The recipient that a receiver is; null: it is a channel. */
export function recipientOf(receiver: number): number | null {
  return receiver < 0 ? -receiver : null;
}

/** For WHERE: whether the receiver in this column exists. */
export function receiverExists(column: string): RawBuilder<boolean> {
  const id = sql.ref(column);
  return sql<boolean>`CASE WHEN ${id} > 0
    THEN EXISTS (SELECT 1 FROM notifications WHERE notifications.id = ${id})
    ELSE EXISTS (SELECT 1 FROM page_recipients WHERE page_recipients.id = -${id}) END`;
}
