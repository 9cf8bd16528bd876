import { z } from 'zod';
import type { Announced } from './links.ts';
import type { Row } from './resources.ts';
import type { RowSource } from './row-source.ts';
import { queriesOn } from './row-source.ts';
import type { Store, Transaction } from './store.ts';

/** Ids named in one query; SQLite takes no more than 32,766 parameters. */
const IDS_PER_QUERY = 500;

/** The monitors of all workspaces by ascending id: the next `limit` after `afterId`. */
export function monitorsAfter(store: Store, afterId: number, limit: number): Promise<Row<'monitors'>[]> {
  return store.read
    .selectFrom('monitors')
    .selectAll()
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Those of these monitors that are there, in no order. */
export async function monitorsOf(store: Store, ids: readonly number[]): Promise<Row<'monitors'>[]> {
  const rows: Row<'monitors'>[] = [];
  for (const some of chunks(ids)) {
    rows.push(...(await store.read.selectFrom('monitors').selectAll().where('id', 'in', some).execute()));
  }
  return rows;
}

/** Which of these ids are monitors of the workspace. */
export async function existingMonitors(
  source: RowSource,
  workspaceId: number,
  ids: readonly number[],
): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (const some of chunks(ids)) {
    const rows = await queriesOn(source)
      .selectFrom('monitors')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('id', 'in', some)
      .execute();
    for (const { id } of rows) found.add(id);
  }
  return found;
}

/** Epoch ms when the monitor was declared; null: it is not there, or another workspace's. */
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

/** Which of these monitors are not public. */
export async function hiddenMonitors(store: Store, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const hidden = new Set<number>();
  for (const some of chunks(ids)) {
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

/** What is open about a monitor, and what its channels were told. */
export type Standing = {
  readonly incident: string | null;
  readonly links: readonly {
    readonly notificationId: number;
    readonly providerType: string;
    readonly announced: Announced;
    readonly incident: string | null;
  }[];
};

/** Links by ascending id of the channel. */
export async function standingOf({ db }: Transaction, monitorId: number): Promise<Standing> {
  const rows = await db
    .selectFrom('monitors as m')
    .leftJoin('monitor_states as s', 's.monitor_id', 'm.id')
    .leftJoin('links as l', 'l.monitor_id', 'm.id')
    .leftJoin('notifications as n', 'n.id', 'l.notification_id')
    .select(['s.incident as own', 'n.id', 'n.provider_type', 'l.announced', 'l.incident'])
    .where('m.id', '=', monitorId)
    .orderBy('n.id')
    .execute();
  const links = rows.flatMap(({ id, provider_type, announced, incident }) =>
    id === null || provider_type === null || announced === null
      ? []
      : [{ notificationId: id, providerType: provider_type, announced, incident }],
  );
  return { incident: rows[0]?.own ?? null, links };
}

function* chunks(ids: readonly number[]): Generator<readonly number[]> {
  for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
    yield ids.slice(start, start + IDS_PER_QUERY);
  }
}
