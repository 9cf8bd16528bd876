import { type Readable, readingOf } from '../reading-of.ts';

/** What refers to a monitor: the first of each kind by id, and how many there are. */
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
    }[];
    readonly total: number;
  };
};

/**
 * The components of status pages that show a monitor, and the channels that it is linked to.
 *
 * @param most of each, > 0
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
      .select(['n.id', 'n.name', 'n.provider_type as providerType'])
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
