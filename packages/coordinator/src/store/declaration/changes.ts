import { jsonOrUndefined } from '@svc/shared/json.ts';
import { checkKind } from '@svc/shared/messages/check.ts';
import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { ONLY_SHARD, type Shard } from '../../verdict/shard.ts';
import type { Database } from '../schema.ts';
import type { SqlStep, SqlValue, Store, Transaction } from '../store.ts';
import { ANNOUNCED } from './links.ts';

/**
 * The log of changes of the declaration, maintenance windows and mutes.
 *
 * A transaction that changes rows appends the changes to the log. The leader of a shard applies their effects
 * (votes that end, announcements, scheduling, memory), and removes the entries in the transaction that stores
 * these effects. So the effects of every entry in the log are still to be applied, also after a crash.
 *
 * Each shard has its own entries, because its leader applies and removes them by itself. An entry about a
 * monitor is appended for the shard of the monitor, and every other entry once for each shard.
 */

const linkDetail = z.object({
  providerType: z.string(),
  version: z.number().int(),
  announced: z.enum(ANNOUNCED),
  incident: z.string().nullable(),
  /** When the link's incident began, epoch ms; null: the link has no incident. */
  incidentSince: z.number().nullable(),
});

/** The content of a link's row before the row was removed, and the kind of its channel. */
export type RemovedLink = z.infer<typeof linkDetail>;

const monitorDetail = z.object({
  workspaceId: z.number().int(),
  type: checkKind,
  name: z.string(),
  /** The URL or URI that alerts show. */
  target: z.string(),
  incident: z.string().nullable(),
  links: z.array(linkDetail.extend({ notificationId: z.number().int() })),
});

/** The content of a monitor's rows before they were removed. It suffices to end the monitor's incident. */
export type RemovedRows = z.infer<typeof monitorDetail>;

const versionDetail = z.object({ version: z.number().int().nullable() });

const windowDetail = z.object({ windowId: z.number().int() });

/** An entry to append. */
export type NewChange =
  /** `removed` null: the monitor was created or updated. */
  | { readonly kind: 'monitor'; readonly monitorId: number; readonly removed: RemovedRows | null }
  /** A channel was linked to a monitor. `version`: the version of the link. */
  | {
      readonly kind: 'linked';
      readonly monitorId: number;
      readonly notificationId: number;
      readonly version: number;
    }
  | {
      readonly kind: 'unlinked';
      readonly monitorId: number;
      readonly notificationId: number;
      readonly link: RemovedLink;
    }
  /**
   * The kind, the settings or `group_alerts` of a channel was changed. `version`: the new version of the
   * channel's links if its kind was changed; null: the kind is the same.
   */
  | { readonly kind: 'channel'; readonly notificationId: number; readonly version: number | null }
  /** A channel was removed with its links. Its deliveries are removed later, in small steps. */
  | { readonly kind: 'channel-removed'; readonly notificationId: number }
  /** A maintenance window or a mute was created, changed or removed. `windowId`: see `LiveWindow.id`. */
  | { readonly kind: 'maintenance'; readonly windowId: number };

/**
 * Stands for the detail of an entry that this version cannot read. The entry is applied without its detail.
 */
export const UNREADABLE = 'unreadable';

type Of<K extends NewChange['kind']> = Extract<NewChange, { kind: K }>;

/** An entry of the log. Ids grow in the order of the commits. */
export type Change = { readonly id: number } & (
  | (Omit<Of<'monitor'>, 'removed'> & { readonly removed: RemovedRows | typeof UNREADABLE | null })
  /** `providerType`: the kind of the channel now; null: the channel was removed meanwhile. */
  | (Of<'linked' | 'channel'> & { readonly providerType: string | null })
  | (Omit<Of<'unlinked'>, 'link'> & { readonly link: RemovedLink | typeof UNREADABLE })
  | Of<'channel-removed'>
  /** `windowId` null: the id of the window cannot be read. */
  | { readonly kind: 'maintenance'; readonly windowId: number | null }
);

const INSERT = `INSERT INTO changes (shard, kind, monitor_id, notification_id, detail)
  SELECT id, ?, ?::bigint, ?::bigint, ? FROM shards
  WHERE ?::bigint IS NULL OR id = ?::bigint % (SELECT count(*) FROM shards) RETURNING id`;

/** Appends entries to the log. Returns the id of the last appended entry; null when `changes` is empty. */
export function appendChanges(tx: Transaction, changes: readonly NewChange[]): Promise<number | null> {
  return appendRows(tx, changes.map(rowOf));
}

async function appendRows(tx: Transaction, rows: readonly SqlValue[][]): Promise<number | null> {
  const written = await tx.runEach(
    INSERT,
    rows.map((row) => [...row, row[1] ?? null, row[1] ?? null]),
  );
  return written.at(-1)?.id ?? null;
}

/**
 * Appends all entries of the log again, in their order, for the present shards, and removes the
 * old entries. After that, an entry for all shards may be applied more than once, which is safe.
 */
export async function appendAgain(tx: Transaction): Promise<void> {
  const entries = await tx.db.selectFrom('changes').selectAll().orderBy('id').execute();
  await tx.runEach('DELETE FROM changes', [[]]);
  await appendRows(
    tx,
    entries.map(({ kind, monitor_id, notification_id, detail }) => [
      kind,
      monitor_id,
      notification_id,
      detail,
    ]),
  );
}

/**
 * The next entries of the shard after this id, by ascending id, at most `limit`. The query runs on the
 * connection for `work`, so reads of pages and of the API do not delay it.
 */
export async function changesAfter(
  store: Store,
  afterId: number,
  limit: number,
  shard: Shard = ONLY_SHARD,
): Promise<Change[]> {
  const rows = await store.work
    .selectFrom('changes as c')
    .leftJoin('notifications as n', 'n.id', 'c.notification_id')
    .selectAll('c')
    .select('n.provider_type')
    .where('c.shard', '=', shard.id)
    .where('c.id', '>', afterId)
    .orderBy('c.id')
    .limit(limit)
    .execute();
  return rows.map(changeOf);
}

/**
 * Removes the entries of the shard up to `untilId`. Run this step
 * in the transaction that stores the effects of these entries.
 */
export function removeChanges(untilId: number, shard: Shard = ONLY_SHARD): SqlStep {
  return { sql: 'DELETE FROM changes WHERE id <= ? AND shard = ?', rows: [[untilId, shard.id]] };
}

type LoggedRow = Selectable<Database['changes']> & { provider_type: string | null };

function changeOf({ id, kind, monitor_id, notification_id, detail, provider_type }: LoggedRow): Change {
  const monitorId = monitor_id ?? 0;
  const notificationId = notification_id ?? 0;
  switch (kind) {
    case 'monitor':
      return { id, kind, monitorId, removed: detail === null ? null : read(monitorDetail, detail) };
    case 'linked':
      return {
        ...{ id, kind, monitorId, notificationId, providerType: provider_type },
        version: versionIn(detail) ?? 0,
      };
    case 'unlinked':
      return { id, kind, monitorId, notificationId, link: read(linkDetail, detail ?? '') };
    case 'channel':
      return { id, kind, notificationId, providerType: provider_type, version: versionIn(detail) };
    case 'channel-removed':
      return { id, kind, notificationId };
    case 'maintenance': {
      const known = read(windowDetail, detail ?? '');
      return { id, kind, windowId: known === UNREADABLE ? null : known.windowId };
    }
  }
}

/** The version in an entry's detail; null: the detail has no version, or cannot be read. */
function versionIn(detail: string | null): number | null {
  const known = read(versionDetail, detail ?? '');
  return known === UNREADABLE ? null : known.version;
}

/**
 * Parses the detail of an entry. It does not throw for an unreadable detail, because the error would stop all
 * later entries too.
 */
function read<T>(schema: z.ZodType<T>, detail: string): T | typeof UNREADABLE {
  const parsed = schema.safeParse(jsonOrUndefined(detail));
  return parsed.success ? parsed.data : UNREADABLE;
}

function rowOf(change: NewChange): SqlValue[] {
  switch (change.kind) {
    case 'monitor': {
      const { kind, monitorId, removed } = change;
      return [kind, monitorId, null, removed === null ? null : JSON.stringify(removed satisfies RemovedRows)];
    }
    case 'linked':
      return [change.kind, change.monitorId, change.notificationId, versionText(change)];
    case 'unlinked':
      return [
        change.kind,
        change.monitorId,
        change.notificationId,
        JSON.stringify(change.link satisfies RemovedLink),
      ];
    case 'channel':
      return [change.kind, null, change.notificationId, versionText(change)];
    case 'channel-removed':
      return [change.kind, null, change.notificationId, null];
    case 'maintenance':
      return [change.kind, null, null, JSON.stringify({ windowId: change.windowId })];
  }
}

function versionText({ version }: z.infer<typeof versionDetail>): string {
  return JSON.stringify({ version } satisfies z.infer<typeof versionDetail>);
}

/**
 * Returns a text that changes with every change of a status and of the declaration, because each such change
 * adds a row to `transitions` or `audit`. Other rows of these tables change the text too.
 */
export async function newestChange({ read }: Store): Promise<string> {
  const { rows } = await sql<{ transition: number | null; line: number | null }>`
    SELECT (SELECT max(id) FROM transitions) AS transition, (SELECT max(id) FROM audit) AS line`.execute(
    read,
  );
  const [found] = rows;
  return `${found?.transition ?? 0}-${found?.line ?? 0}`;
}
