import type { Region } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import { z } from 'zod';
import type { MonitorStatus } from '../../verdict/monitor.ts';
import type { MonitorNotice } from '../../verdict/monitor-notices.ts';
import type { Shard } from '../../verdict/shard.ts';
import { idChunks, inShard, type Readable, readingOf, wholeMs } from '../queries.ts';
import type { Store, Transaction } from '../store.ts';

/*
 * The notices about monitors that have begun and not ended. `verdict/monitor-notices.ts` says when they begin
 * and end.
 */

/**
 * The channels for which the message about the beginning of a notice was queued: their ids, and the versions
 * of their links.
 */
const told = z.array(z.object({ id: z.number().int(), version: z.number().int() }));
export type Told = z.infer<typeof told>;

/** `key`: the `incident` of the notice's deliveries. */
export type StoredNotice = MonitorNotice & { readonly key: string; readonly told: Told };

/**
 * The notices about the monitors of the shard, in any order.
 *
 * @throws SyntaxError, ZodError when a stored value cannot be read
 */
export async function storedNotices({ work }: Store, shard: Shard): Promise<StoredNotice[]> {
  const rows = await work
    .selectFrom('monitor_notices')
    .selectAll()
    .where(inShard('monitor_id', shard))
    .execute();
  return rows.map(({ monitor_id: monitorId, region, since, key, told: text }) => {
    return { monitorId, region: regionOf(region), since, key, told: told.parse(JSON.parse(text)) };
  });
}

/** The notices about these monitors, by id of the monitor. A monitor without a notice is missing. */
export async function noticesOf(
  source: Readable,
  monitorIds: readonly number[],
): Promise<ReadonlyMap<number, readonly MonitorNotice[]>> {
  const notices: MonitorNotice[] = [];
  for (const ids of idChunks(monitorIds)) {
    const rows = await readingOf(source)
      .selectFrom('monitor_notices')
      .select(['monitor_id as monitorId', 'region', 'since'])
      .where('monitor_id', 'in', ids)
      .orderBy('monitor_id')
      .orderBy('region')
      .execute();
    notices.push(...rows.map((row) => ({ ...row, region: regionOf(row.region) })));
  }
  return Map.groupBy(notices, ({ monitorId }) => monitorId);
}

/** Reads the region from its column, which is empty if the notice is about missing data. */
function regionOf(column: string): Region | null {
  return column === '' ? null : (column as Region);
}

/** Returns the workspaces in which more than half of the active monitors have the status `unknown`. */
export async function silentWorkspaces(
  { work }: Pick<Store, 'work'>,
  workspaceIds: Iterable<number>,
): Promise<ReadonlySet<number>> {
  const silent = new Set<number>();
  for (const id of workspaceIds) {
    const { rows } = await sql<{ total: number; silent: number | null }>`
      SELECT count(*) AS total, sum(CASE WHEN coalesce(s.status, 'unknown') = 'unknown' THEN 1 ELSE 0 END) AS silent
      FROM monitors m LEFT JOIN monitor_states s ON s.monitor_id = m.id
      WHERE m.workspace_id = ${id} AND m.active = 1`.execute(work);
    const [found] = rows;
    if (found !== undefined && Number(found.silent ?? 0) * 2 > Number(found.total)) silent.add(id);
  }
  return silent;
}

/** A channel that is linked to a monitor. */
export type NoticeReceiver = {
  readonly monitorId: number;
  readonly id: number;
  /** Version of the link. */
  readonly version: number;
  /** Whether the channel gets notices about missing data. */
  readonly hearsOfNoData: boolean;
};

/** The channels of these kinds that are linked to the monitors, by id of the monitor. */
export async function noticeReceivers(
  { db }: Transaction,
  monitorIds: readonly number[],
  kinds: readonly string[],
): Promise<ReadonlyMap<number, readonly NoticeReceiver[]>> {
  const rows = await db
    .selectFrom('links as l')
    .innerJoin('notifications as n', 'n.id', 'l.notification_id')
    .select(['l.monitor_id as monitorId', 'n.id', 'l.version', 'n.notify_unknown'])
    .where('l.monitor_id', 'in', monitorIds)
    .where('n.provider_type', 'in', kinds)
    .orderBy('n.id')
    .execute();
  const receivers = rows.map(({ notify_unknown, ...receiver }) => {
    return { ...receiver, hearsOfNoData: notify_unknown === 1 };
  });
  return Map.groupBy(receivers, ({ monitorId }) => monitorId);
}

/**
 * Stores notices that have begun. A notice is stored only if its monitor still has the given status since the
 * given instant (epoch ms), and has no notice about the same region yet.
 *
 * @returns for each notice whether it is stored
 */
export async function beginNotices(
  tx: Transaction,
  begun: readonly {
    readonly notice: StoredNotice;
    readonly status: MonitorStatus;
    readonly statusSince: number;
  }[],
): Promise<boolean[]> {
  const outcomes = await tx.runEach(
    `INSERT INTO monitor_notices (monitor_id, region, since, key, told)
       SELECT monitor_id, ?, ?::bigint, ?, ? FROM monitor_states WHERE monitor_id = ? AND status = ? AND since = ?
       ON CONFLICT DO NOTHING`,
    begun.map(({ notice: { monitorId, region, since, key, told }, status, statusSince }) => [
      ...[region ?? '', wholeMs(since), key, JSON.stringify(told)],
      ...[monitorId, status, statusSince],
    ]),
  );
  return outcomes.map(({ changes }) => changes > 0);
}

/** Removes notices. Returns for each whether it was stored. */
export async function endNotices(tx: Transaction, notices: readonly MonitorNotice[]): Promise<boolean[]> {
  const outcomes = await tx.runEach(
    'DELETE FROM monitor_notices WHERE monitor_id = ? AND region = ?',
    notices.map(({ monitorId, region }) => [monitorId, region ?? '']),
  );
  return outcomes.map(({ changes }) => changes > 0);
}
