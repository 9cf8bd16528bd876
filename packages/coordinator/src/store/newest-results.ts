import { type Kysely, type Selectable, sql } from 'kysely';
import type { SlotRange } from '../domain/candidate-slots.ts';
import type { Database } from './schema.ts';
import { slotsOfMonitor } from './slots-of-monitor.ts';
import type { Store } from './store.ts';

/** Slots looked at per query: few first, which mostly are enough, then many. */
const FIRST_CHUNK = 100;
const LARGEST_CHUNK = 4_000;
const GROWTH = 4;

export type ResultRow = Selectable<Database['results']>;

export type ResultSearch = {
  monitorId: number;
  /** No slot before it is looked at, epoch ms. */
  since: number;
  /** null: all. */
  region: string | null;
  /** The last row that is known already; null: from the newest on. */
  after: { slot: number; region: string } | null;
  /** > 0 */
  limit: number;
};

/**
 * The newest results of a monitor, by slot and region, both descending.
 *
 * Results lie in the order of time, so a monitor's are found by looking at each slot that it can have
 * had. That is a few µs for each, 40,000 of them in 14 days.
 */
export async function newestResults(
  { read: db }: Pick<Store, 'read'>,
  search: ResultSearch,
): Promise<ResultRow[]> {
  const range = await slotRange(db, search);
  if (range === null) return [];
  const found: ResultRow[] = [];
  let chunk: number[] = [];
  let size = FIRST_CHUNK;
  const look = async () => {
    found.push(...(await resultsOf(db, search, chunk, search.limit - found.length)));
    chunk = [];
    size = Math.min(size * GROWTH, LARGEST_CHUNK);
  };
  for (const slot of await slotsOfMonitor(db, search.monitorId, range)) {
    chunk.push(slot);
    if (chunk.length < size) continue;
    await look();
    if (found.length >= search.limit) return found;
  }
  await look();
  return found;
}

/** From the oldest to the newest slot of all monitors, as far as they are looked for; null without any. */
async function slotRange(db: Kysely<Database>, { since, after }: ResultSearch): Promise<SlotRange | null> {
  // Each alone is one step in the table; both together would read all of it.
  const { oldest, newest } = await db
    .selectNoFrom([
      (of) =>
        of
          .selectFrom('results')
          .select(({ fn }) => fn.min('slot').as('slot'))
          .as('oldest'),
      (of) =>
        of
          .selectFrom('results')
          .select(({ fn }) => fn.max('slot').as('slot'))
          .as('newest'),
    ])
    .executeTakeFirstOrThrow();
  if (oldest === null || newest === null) return null;
  return {
    from: Math.max(oldest, since),
    until: Math.min(newest, after?.slot ?? newest),
  };
}

function resultsOf(
  db: Kysely<Database>,
  { monitorId, region, after }: ResultSearch,
  slots: readonly number[],
  limit: number,
): Promise<ResultRow[]> {
  return (
    db
      .selectFrom('results')
      .selectAll()
      .where('monitor_id', '=', monitorId)
      // As one parameter: the statement stays the same however many there are.
      .where(sql<boolean>`slot IN (SELECT value FROM json_each(${JSON.stringify(slots)}))`)
      .$if(region !== null, (from) => from.where('region', '=', region ?? ''))
      .$if(after !== null, (from) =>
        from.where(sql<boolean>`(slot, region) < (${after?.slot}, ${after?.region})`),
      )
      .orderBy('slot', 'desc')
      .orderBy('region', 'desc')
      .limit(limit)
      .execute()
  );
}
