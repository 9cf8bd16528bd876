import { appendTo } from '@svc/shared/collections.ts';
import { type Kysely, sql } from 'kysely';
import type { Announced } from '../../verdict/transition.ts';
import { type Readable, readingOf } from '../queries.ts';
import type { Database } from '../schema.ts';
import type { Transaction } from '../store.ts';

/**
 * The statuses that a link can store. A link enables a channel for a monitor, and stores the status that was
 * last announced to the channel about the monitor, at first `active`.
 */
export const ANNOUNCED = ['active', 'degraded', 'error'] as const satisfies readonly Announced[];

/**
 * Maximum number of links that one statement reads or writes. A channel may name all monitors, and one
 * message with 120,000 links to a thread of the database would block the main thread for 0.2 s.
 */
const LINKS_TOGETHER = 1_800;

/**
 * The ids of the monitors linked to each of these channels, ascending. A channel without links is missing.
 */
export async function linkedMonitors(
  source: Readable,
  notificationIds: readonly number[],
): Promise<Map<number, number[]>> {
  const linked = new Map<number, number[]>();
  for (let left = notificationIds; left.length > 0; ) {
    const rows = await readingOf(source)
      .selectFrom('links')
      .select(['notification_id as id', 'monitor_id as monitorId'])
      .where('notification_id', 'in', left)
      .orderBy('notification_id')
      .orderBy('monitor_id')
      .limit(LINKS_TOGETHER)
      .execute();
    for (const { id, monitorId } of rows) appendTo(linked, id, monitorId);
    const last = rows.at(-1);
    if (last === undefined || rows.length < LINKS_TOGETHER) break;
    // The last channel may have more links. These links are read
    // separately, so that the index finds where to continue.
    for await (const links of linksAfter(readingOf(source), last.id, last.monitorId)) {
      for (const { monitorId } of links) appendTo(linked, last.id, monitorId);
    }
    left = left.filter((id) => id > last.id);
  }
  return linked;
}

/** A channel with the state `failing`. */
export type FailingChannel = {
  readonly id: number;
  readonly name: string | null;
  readonly reason: string | null;
};

/**
 * The failing channels of one monitor or of one workspace. `first`: the failing channels with the lowest ids.
 * `total`: the number of all failing channels.
 */
export type FailingChannels = { readonly first: readonly FailingChannel[]; readonly total: number };

/**
 * The failing channels that these monitors are linked to. A monitor without a failing channel is missing.
 *
 * @param most maximum number of channels listed for one monitor, > 0
 */
export async function failingChannels(
  source: Readable,
  monitorIds: readonly number[],
  most: number,
): Promise<ReadonlyMap<number, FailingChannels>> {
  const failing = new Map<number, { first: FailingChannel[]; total: number }>();
  if (monitorIds.length === 0) return failing;
  const { rows } = await sql<FailingChannel & { monitorId: number; total: number }>`
    SELECT * FROM (
      SELECT l.monitor_id AS "monitorId", n.id, n.name, n.state_reason AS reason,
        row_number() OVER (PARTITION BY l.monitor_id ORDER BY n.id) AS place,
        count(*) OVER (PARTITION BY l.monitor_id) AS total
      FROM links l JOIN notifications n ON n.id = l.notification_id
      WHERE l.monitor_id IN (${sql.join(monitorIds)}) AND n.state = 'failing') AS told
    WHERE place <= ${most} ORDER BY "monitorId", id`.execute(readingOf(source));
  for (const { monitorId, total, id, name, reason } of rows) {
    const known = failing.get(monitorId);
    if (known === undefined) failing.set(monitorId, { first: [{ id, name, reason }], total });
    else known.first.push({ id, name, reason });
  }
  return failing;
}

/**
 * The failing channels of a workspace.
 *
 * @param most maximum number of channels in `first`
 */
export async function failingChannelsOf(
  source: Readable,
  workspaceId: number,
  most: number,
): Promise<FailingChannels> {
  const failing = readingOf(source)
    .selectFrom('notifications')
    .where('workspace_id', '=', workspaceId)
    .where('state', '=', 'failing');
  const [first, { total }] = await Promise.all([
    failing.select(['id', 'name', 'state_reason as reason']).orderBy('id').limit(most).execute(),
    failing.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ]);
  return { first, total };
}

/** A channel's link to a monitor. */
export type ChannelLink = {
  readonly monitorId: number;
  readonly version: number;
  readonly announced: Announced;
  readonly incident: string | null;
  /** When the link's incident began, epoch ms; null: the link has no incident. */
  readonly incidentSince: number | null;
};

/** Yields the links of a channel in chunks, by ascending id of the monitor. */
export function linksOfChannel(
  { db }: Transaction,
  notificationId: number,
): AsyncIterable<readonly ChannelLink[]> {
  return linksAfter(db, notificationId, 0);
}

async function* linksAfter(
  db: Kysely<Database>,
  notificationId: number,
  monitorId: number,
): AsyncGenerator<readonly ChannelLink[]> {
  for (let after = monitorId; ; ) {
    const links = await db
      .selectFrom('links')
      .leftJoin('incidents', 'incidents.key', 'links.incident')
      .select(['links.monitor_id as monitorId', 'links.version as version'])
      .select(['announced', 'incident', 'opened_at as incidentSince'])
      .where('notification_id', '=', notificationId)
      .where('links.monitor_id', '>', after)
      .orderBy('links.monitor_id')
      .limit(LINKS_TOGETHER)
      .execute();
    const last = links.at(-1);
    if (last === undefined) return;
    yield links;
    after = last.monitorId;
  }
}

/** Links the monitors to the channel. The stored status of a new link is `active`. */
export async function insertLinks(
  tx: Transaction,
  { notificationId, version }: { readonly notificationId: number; readonly version: number },
  monitorIds: readonly number[],
): Promise<void> {
  for (let start = 0; start < monitorIds.length; start += LINKS_TOGETHER) {
    const some = monitorIds.slice(start, start + LINKS_TOGETHER);
    await tx.runEach(
      'INSERT INTO links (monitor_id, notification_id, version) VALUES (?, ?, ?)',
      some.map((id) => [id, notificationId, version]),
    );
  }
}

/**
 * Removes the links and the numbers of their reminders.
 *
 * @param monitorIds at most as many ids as one chunk of {@link linksOfChannel} has
 */
export async function removeLinks(
  tx: Transaction,
  notificationId: number,
  monitorIds: readonly number[],
): Promise<void> {
  const links = monitorIds.map((id) => [id, notificationId]);
  await tx.runEach('DELETE FROM links WHERE monitor_id = ? AND notification_id = ?', links);
  await tx.runEach('DELETE FROM reminders WHERE monitor_id = ? AND notification_id = ?', links);
}

/**
 * Resets the links of a channel whose kind has changed, as if the channel had received no
 * alert. Also removes the channel's threads of all incidents about which it may still receive
 * alerts, because the code of the former kind wrote these threads. Reminders are counted from 1 again.
 */
export async function resetLinks(
  { db }: Transaction,
  { notificationId, version }: { readonly notificationId: number; readonly version: number },
): Promise<void> {
  await sql`DELETE FROM delivery_threads WHERE notification_id = ${notificationId} AND incident IN (
      SELECT incident FROM links WHERE notification_id = ${notificationId} AND incident IS NOT NULL
      UNION SELECT incident FROM deliveries
        WHERE notification_id = ${notificationId} AND state = 'pending' AND incident IS NOT NULL)`.execute(
    db,
  );
  await db.deleteFrom('reminders').where('notification_id', '=', notificationId).execute();
  await db
    .updateTable('links')
    .set({ version, announced: 'active', incident: null })
    .where('notification_id', '=', notificationId)
    .execute();
}
