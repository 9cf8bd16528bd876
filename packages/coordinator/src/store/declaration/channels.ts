import { Secret } from '@svc/shared/secret.ts';
import { type RawBuilder, sql } from 'kysely';
import { type Readable, readingOf } from '../queries.ts';
import type { Store, Transaction } from '../store.ts';
import type { SealPurpose, Secrets } from './secrets.ts';

const SEAL: SealPurpose = 'notifications.settings';

/** What alerts need to know about a channel, with its settings sealed. */
export type SealedChannel = {
  readonly workspaceId: number;
  readonly kind: string;
  readonly settingsSealed: Uint8Array;
  /** Whether alerts of many monitors that change together may come as one message. */
  readonly groupsAlerts: boolean;
  /** Why the channel is stopped; null: it is not stopped. */
  readonly stoppedFor: string | null;
  /** The text that the code of the channel's kind stored for the channel; null: none. */
  readonly kept: string | null;
};

/** The channel with this id, with its settings sealed; null: there is no such channel. */
export async function findChannel(store: Store, notificationId: number): Promise<SealedChannel | null> {
  const row = await store.work
    .selectFrom('notifications')
    .select([
      'workspace_id',
      'provider_type',
      'settings_sealed',
      'group_alerts',
      'stopped_at',
      'state_reason',
      'kept',
    ])
    .where('id', '=', notificationId)
    .executeTakeFirst();
  if (row === undefined) return null;
  const stoppedFor = row.stopped_at === null ? null : (row.state_reason ?? 'its address is dead');
  return {
    workspaceId: row.workspace_id,
    kind: row.provider_type,
    settingsSealed: row.settings_sealed,
    groupsAlerts: row.group_alerts === 1,
    stoppedFor,
    kept: row.kept,
  };
}

/**
 * Seals a channel's settings for its row. All settings are sealed together, because the addresses of most
 * channels are secrets.
 */
export function sealSettings(secrets: Secrets, settings: object): Uint8Array {
  return secrets.seal(SEAL, JSON.stringify(settings));
}

/**
 * The settings that {@link sealSettings} has sealed, in clear text. The caller parses them with the schema of
 * the channel's kind.
 *
 * @throws StoreError `store-key`
 */
export function openSettings(secrets: Secrets, sealed: Uint8Array): Secret<unknown> {
  return new Secret(JSON.parse(secrets.open(SEAL, sealed).reveal()));
}

/**
 * Sets the state of a channel that is not stopped. A stopped channel keeps its state. The row version does
 * not change. Returns false if the workspace has no such channel.
 */
export async function setChannelState(
  tx: Transaction,
  workspaceId: number,
  id: number,
  { state, reason }: { state: 'ok' | 'failing'; reason: string | null },
): Promise<boolean> {
  const rows = await tx.query<{ id: number }>(
    `UPDATE notifications SET state = CASE WHEN stopped_at IS NULL THEN ? ELSE state END,
       state_reason = CASE WHEN stopped_at IS NULL THEN ? ELSE state_reason END
     WHERE id = ? AND workspace_id = ? RETURNING id`,
    [state, reason, id, workspaceId],
  );
  return rows.length > 0;
}

/**
 * The channels of the workspace that the declared file owns, by ascending id. `reason`: why the channel
 * fails.
 */
export async function channelsOfFile(
  source: Readable,
  workspaceId: number,
): Promise<{ id: number; kind: string; settingsSealed: Uint8Array; reason: string | null }[]> {
  return readingOf(source)
    .selectFrom('notifications')
    .select(['id', 'provider_type as kind', 'settings_sealed as settingsSealed', 'state_reason as reason'])
    .where('workspace_id', '=', workspaceId)
    .where('owner', '=', 'file')
    .orderBy('id')
    .execute();
}

/**
 * Gives channels a new row version after a change of their links, because the API's answer about a channel
 * includes its monitors.
 *
 * @param now epoch ms
 */
export async function reviseChannels(tx: Transaction, ids: readonly number[], now: number): Promise<void> {
  await tx.runEach(
    'UPDATE notifications SET row_version = row_version + 1, updated_at = ? WHERE id = ?',
    ids.map((id) => [now, id]),
  );
}

/*
 * The receivers of deliveries. The column `notification_id` of a delivery has the id of a channel, which is
 * positive, or the negated id of a page recipient. So deliveries to channels and to recipients share one
 * outbox and one ledger.
 */

/** The value of `notification_id` for deliveries to this page recipient. */
export function receiverOf(recipientId: number): number {
  return -recipientId;
}

/** The id of the page recipient that this `notification_id` stands for; null: it stands for a channel. */
export function recipientOf(receiver: number): number | null {
  return receiver < 0 ? -receiver : null;
}

/** SQL condition: the channel or page recipient whose `notification_id` is in this column exists. */
export function receiverExists(column: string): RawBuilder<boolean> {
  const id = sql.ref(column);
  return sql<boolean>`CASE WHEN ${id} > 0
    THEN EXISTS (SELECT 1 FROM notifications WHERE notifications.id = ${id})
    ELSE EXISTS (SELECT 1 FROM page_recipients WHERE page_recipients.id = -${id}) END`;
}

/**
 * At most `most` other channels of the same workspace that are of these kinds and are not stopped. Working
 * channels come before failing ones.
 */
export async function otherChannels(
  { db }: Transaction,
  notificationId: number,
  kinds: readonly string[],
  most: number,
): Promise<number[]> {
  if (kinds.length === 0) return [];
  const rows = await db
    .selectFrom('notifications as o')
    .innerJoin('notifications as n', 'n.workspace_id', 'o.workspace_id')
    .select('o.id')
    .where('n.id', '=', notificationId)
    .where('o.id', '<>', notificationId)
    .where('o.stopped_at', 'is', null)
    .where('o.provider_type', 'in', kinds)
    .orderBy('o.state', 'desc')
    .orderBy('o.id')
    .limit(most)
    .execute();
  return rows.map(({ id }) => id);
}

/** The channel's name for people: its declared name, or its kind and id; null: the channel was removed. */
export async function channelNamed(
  { db }: Transaction,
  notificationId: number,
): Promise<{ readonly name: string } | null> {
  const row = await db
    .selectFrom('notifications')
    .select(['name', 'provider_type'])
    .where('id', '=', notificationId)
    .executeTakeFirst();
  if (row === undefined) return null;
  return { name: row.name ?? `${row.provider_type} ${notificationId}` };
}
