import { z } from 'zod';
import type { Shard } from '../../verdict/shard.ts';
import type { Announced } from '../../verdict/transition.ts';
import { idChunks, inShard, type Readable, readingOf } from '../queries.ts';
import type { Store, Transaction } from '../store.ts';
import type { Row } from './resources.ts';

/** The next `limit` monitors of the shard after `afterId`, of all workspaces, by ascending id. */
export function monitorsAfter(
  store: Store,
  afterId: number,
  limit: number,
  shard: Shard,
): Promise<Row<'monitors'>[]> {
  return store.read
    .selectFrom('monitors')
    .selectAll()
    .where('id', '>', afterId)
    .where(inShard('id', shard))
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** The versions of all monitors of the shard, of all workspaces, in any order. */
export function monitorVersions(
  store: Store,
  shard: Shard,
): Promise<Pick<Row<'monitors'>, 'id' | 'row_version' | 'updated_at'>[]> {
  return store.read
    .selectFrom('monitors')
    .select(['id', 'row_version', 'updated_at'])
    .where(inShard('id', shard))
    .execute();
}

/** The existing monitors with these ids, of any workspace, in any order. */
export async function monitorsOf(source: Readable, ids: readonly number[]): Promise<Row<'monitors'>[]> {
  const rows: Row<'monitors'>[] = [];
  for (const some of idChunks(ids)) {
    const query = readingOf(source).selectFrom('monitors').selectAll().where('id', 'in', some);
    rows.push(...(await query.execute()));
  }
  return rows;
}

/** When the monitor was created, epoch ms; null: it does not exist or belongs to another workspace. */
export async function monitorCreatedAt(
  store: Store,
  workspaceId: number,
  id: number,
): Promise<number | null> {
  const row = await store.read
    .selectFrom('monitors')
    .select('created_at')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return row?.created_at ?? null;
}

const publicity = z.object({ public: z.boolean().default(false) });

/** Returns which of these ids belong to monitors that are not public. */
export async function hiddenMonitors(store: Store, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const hidden = new Set<number>();
  for (const some of idChunks(ids)) {
    const rows = await store.read
      .selectFrom('monitors')
      .select(['id', 'attributes'])
      .where('id', 'in', some)
      .execute();
    for (const { id, attributes } of rows) {
      if (!publicity.parse(JSON.parse(attributes)).public) hidden.add(id);
    }
  }
  return hidden;
}

/** A monitor's open incident, and what was last announced to each of its channels. */
export type AlertedState = {
  /** Key of the open incident; null: there is none. */
  readonly incident: string | null;
  readonly links: readonly {
    readonly notificationId: number;
    readonly providerType: string;
    readonly version: number;
    readonly announced: Announced;
    readonly incident: string | null;
    readonly incidentSince: number | null;
  }[];
};

/**
 * The states of the existing monitors with these ids, by monitor. The links of a monitor are in ascending
 * order of the channels' ids.
 */
export async function alertedStatesOf(
  { db }: Transaction,
  monitorIds: readonly number[],
): Promise<ReadonlyMap<number, AlertedState>> {
  const standings = new Map<number, AlertedState & { links: AlertedState['links'][number][] }>();
  for (const some of idChunks(monitorIds)) {
    const rows = await db
      .selectFrom('monitors as m')
      .leftJoin('monitor_states as s', 's.monitor_id', 'm.id')
      .leftJoin('links as l', 'l.monitor_id', 'm.id')
      .leftJoin('notifications as n', 'n.id', 'l.notification_id')
      .leftJoin('incidents as i', 'i.key', 'l.incident')
      .select(['m.id as monitorId', 's.incident as own', 'n.id', 'n.provider_type as providerType'])
      .select(['l.version', 'l.announced', 'l.incident', 'i.opened_at as incidentSince'])
      .where('m.id', 'in', some)
      .orderBy('m.id')
      .orderBy('n.id')
      .execute();
    for (const { monitorId, own, id, providerType, version, announced, ...told } of rows) {
      const standing = standings.get(monitorId) ?? { incident: own, links: [] };
      standings.set(monitorId, standing);
      if (id === null || providerType === null || version === null || announced === null) continue;
      standing.links.push({ notificationId: id, providerType, version, announced, ...told });
    }
  }
  return standings;
}

/**
 * The components and channels that refer to a monitor. `first` lists the components, or the channels, with
 * the lowest ids. `total` is the number of all components, or of all channels, that refer to it.
 */
export type MonitorUses = {
  readonly components: {
    readonly first: readonly { readonly id: number; readonly pageId: number; readonly slug: string }[];
    readonly total: number;
  };
  readonly notifications: {
    readonly first: readonly {
      readonly id: number;
      readonly name: string | null;
      readonly providerType: string;
      readonly state: 'ok' | 'failing';
      /** When the channel was stopped, epoch ms; null: it is not stopped. */
      readonly stoppedAt: number | null;
    }[];
    readonly total: number;
  };
};

/**
 * Returns the components of status pages that show a monitor, and the channels that the monitor is linked to.
 *
 * @param most maximum number of listed components, and of listed channels, > 0
 */
export async function usesOfMonitor(source: Readable, monitorId: number, most: number): Promise<MonitorUses> {
  const db = readingOf(source);
  const components = db
    .selectFrom('components as c')
    .innerJoin('status_pages as p', 'p.id', 'c.page_id')
    .where('c.monitor_id', '=', monitorId);
  const notifications = db
    .selectFrom('links as l')
    .innerJoin('notifications as n', 'n.id', 'l.notification_id')
    .where('l.monitor_id', '=', monitorId);
  const [shown, shownTotal, linked, linkedTotal] = await Promise.all([
    components.select(['c.id', 'c.page_id as pageId', 'p.slug']).orderBy('c.id').limit(most).execute(),
    components.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    notifications
      .select(['n.id', 'n.name', 'n.provider_type as providerType', 'n.state', 'n.stopped_at as stoppedAt'])
      .orderBy('n.id')
      .limit(most)
      .execute(),
    notifications.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ]);
  return {
    components: { first: shown, total: shownTotal.total },
    notifications: { first: linked, total: linkedTotal.total },
  };
}
