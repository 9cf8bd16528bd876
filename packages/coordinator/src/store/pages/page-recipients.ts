import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { insertFor, parametersOf, type QueuedRow } from '../alerts/delivery-queue.ts';
import { recipientOf } from '../declaration/channels.ts';
import type { Page } from '../declaration/resource-lists.ts';
import { jsonMember } from '../dialect.ts';
import { type Readable, readingOf, wholeMs } from '../queries.ts';
import type { Database, Subscription } from '../schema.ts';
import type { SqlStep, Store, Transaction } from '../store.ts';

type RecipientRow = Selectable<Database['page_recipients']>;

/** A mail address to which a status page sends mails. */
export type Recipient = {
  readonly id: number;
  readonly pageId: number;
  readonly address: string;
  /** Language of the mails to this recipient. */
  readonly language: string;
  readonly subscription: Subscription;
  /** Why the recipient gets no more announcements; null: `subscription` is not `stopped`. */
  readonly stoppedFor: string | null;
  /** When the subscription was confirmed, epoch ms; null: never. */
  readonly confirmedAt: number | null;
  /**
   * The version of the credential with which the recipient could see the page when it subscribed; null: not
   * known.
   */
  readonly credential: string | null;
};

/** Maximum number of rows that one transaction of the retention deletes. */
const CHUNK_ROWS = 500;

/** States of a subscription in which a recipient is listed as a subscriber. */
const LISTED: readonly Subscription[] = ['confirmed', 'stopped'];

/**
 * Returns the recipient with this address on this page. If there is no such recipient, the call creates it.
 *
 * @param now epoch ms, stored as the time of the recipient's last request
 */
export async function recipientAt(
  { db }: Transaction,
  { pageId, address, language }: Pick<Recipient, 'pageId' | 'address' | 'language'>,
  now: number,
): Promise<Recipient> {
  const at = wholeMs(now);
  const row = await db
    .insertInto('page_recipients')
    .values({ page_id: pageId, address, language, created_at: at, asked_at: at })
    .onConflict((conflict) => conflict.columns(['page_id', 'address']).doUpdateSet({ asked_at: at }))
    .returningAll()
    .executeTakeFirstOrThrow();
  return recipientIn(row);
}

/**
 * Stores that the recipient asked to subscribe. The owner of the address must still confirm the subscription.
 * A subscription that is already confirmed stays confirmed.
 */
export async function askSubscription({ db }: Transaction, id: number, language: string): Promise<void> {
  await db
    .updateTable('page_recipients')
    .set({ subscription: 'asked', stopped_for: null, language })
    .where('id', '=', id)
    .where('subscription', '!=', 'confirmed')
    .execute();
}

/**
 * Stores that the owner of the address has confirmed the subscription.
 *
 * @returns the recipient; null: it was removed
 */
export async function confirmSubscription(
  { db }: Transaction,
  { id, pageId, credential }: Pick<Recipient, 'id' | 'pageId' | 'credential'>,
  now: number,
): Promise<Recipient | null> {
  const row = await db
    .updateTable('page_recipients')
    .set({ subscription: 'confirmed', stopped_for: null, confirmed_at: wholeMs(now), credential })
    .where('id', '=', id)
    .where('page_id', '=', pageId)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : recipientIn(row);
}

/**
 * Removes a recipient and returns it; null: there was no such recipient. The retention later removes the
 * mails that are still queued for the recipient.
 */
export async function removeRecipient(
  { db }: Transaction,
  { id, pageId }: { readonly id: number; readonly pageId?: number },
): Promise<Recipient | null> {
  const row = await db
    .deleteFrom('page_recipients')
    .where('id', '=', id)
    .$if(pageId !== undefined, (of) => of.where('page_id', '=', pageId ?? 0))
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : recipientIn(row);
}

/** A recipient with the workspace and the slug of its page; null: the recipient was removed. */
export async function findRecipient(
  source: Readable,
  id: number,
): Promise<(Recipient & { readonly workspaceId: number; readonly slug: string }) | null> {
  const row = await readingOf(source)
    .selectFrom('page_recipients as r')
    .innerJoin('status_pages as p', 'p.id', 'r.page_id')
    .selectAll('r')
    .select(['p.workspace_id', 'p.slug'])
    .where('r.id', '=', id)
    .executeTakeFirst();
  return row === undefined ? null : { ...recipientIn(row), workspaceId: row.workspace_id, slug: row.slug };
}

/**
 * A part of a page's list of subscribers, by ascending id, and the number of all subscribers. Recipients
 * whose subscription is `none` or `asked` are left out.
 */
export async function listSubscribers(
  { read }: Store,
  pageId: number,
  { limit, offset }: Page,
): Promise<{ rows: Recipient[]; total: number }> {
  const all = read
    .selectFrom('page_recipients')
    .where('page_id', '=', pageId)
    .where('subscription', 'in', LISTED);
  const [rows, { total }] = await Promise.all([
    all.selectAll().orderBy('id').limit(limit).offset(offset).execute(),
    all.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows: rows.map(recipientIn), total };
}

/** The next confirmed subscribers of a page after this id, by ascending id. */
export async function subscribersAfter(
  source: Readable,
  pageId: number,
  afterId: number,
  limit: number,
): Promise<Recipient[]> {
  const rows = await readingOf(source)
    .selectFrom('page_recipients')
    .selectAll()
    .where('page_id', '=', pageId)
    .where('subscription', '=', 'confirmed')
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(recipientIn);
}

/**
 * Deletes a chunk of the recipients that are not subscribers and whose last request was before `cutoff`
 * (epoch ms). Returns the number of deleted recipients; 0: there was nothing to delete.
 */
export async function deleteUnconfirmed(store: Store, cutoff: number): Promise<number> {
  return store.transaction(async ({ db }) => {
    const { numDeletedRows } = await db
      .deleteFrom('page_recipients')
      .where(
        'id',
        'in',
        sql<number>`(SELECT id FROM page_recipients WHERE subscription IN ('none', 'asked')
          AND asked_at < ${wholeMs(cutoff)} LIMIT ${CHUNK_ROWS})`,
      )
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  });
}

function recipientIn(row: RecipientRow): Recipient {
  return {
    id: row.id,
    pageId: row.page_id,
    address: row.address,
    language: row.language,
    subscription: row.subscription,
    stoppedFor: row.stopped_for,
    confirmedAt: row.confirmed_at,
    credential: row.credential,
  };
}

/** The parts of a page that its mails need. */
export type MailPage = {
  readonly id: number;
  readonly workspaceId: number;
  readonly title: string;
  readonly slug: string;
  /** The page's verified custom domain, in ASCII; null: the page has no verified domain. */
  readonly domain: string | null;
  /**
   * Only owners of addresses under these mail domains may see the page; null: the page has another kind of
   * access.
   */
  readonly mailDomains: readonly string[] | null;
};

const domainList = z.array(z.string());

/** The parts of the page with this id that its mails need; null: there is no such published page. */
export async function mailPage(source: Readable, pageId: number): Promise<MailPage | null> {
  const row = await readingOf(source)
    .selectFrom('status_pages as p')
    .leftJoin('page_domains as d', (on) =>
      on
        .onRef('d.page_id', '=', 'p.id')
        .onRef('d.declared', '=', 'p.custom_domain')
        .on('d.state', '=', 'verified'),
    )
    .select(['p.id', 'p.workspace_id as workspaceId', 'p.slug', 'd.domain'])
    .select([
      jsonMember(sql`p.attributes`, 'title').as('title'),
      jsonMember(sql`p.attributes`, 'access_type').as('access'),
      jsonMember(sql`p.attributes`, 'auth_email_domains').as('domains'),
    ])
    .where('p.id', '=', pageId)
    .where('p.published', '=', 1)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { access, domains, ...page } = row;
  const mailDomains = access === 'email-domain' ? domainList.parse(JSON.parse(domains ?? '[]')) : null;
  return { ...page, title: page.title ?? page.slug, mailDomains };
}

const INSERT_PAGE_MAIL = insertFor('page_recipients', '-page_recipients.id');

/**
 * Queues mails of status pages. A mail is left out, and `changes` of its row is 0, if its recipient was
 * removed or a delivery with its uid exists.
 *
 * @param rows each `notificationId` stands for a recipient, see `declaration/channels.ts`
 */
export function insertPageMails(rows: readonly QueuedRow[]): SqlStep {
  return {
    sql: INSERT_PAGE_MAIL,
    rows: rows.map((row) => parametersOf(row, recipientOf(row.notificationId))),
  };
}
