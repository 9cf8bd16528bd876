import { type Kysely, type Selectable, sql } from 'kysely';
import type { SlotRange } from '../../verdict/candidate-slots.ts';
import { numbersAs } from '../dialect.ts';
import type { Database } from '../schema.ts';
import type { Store } from '../store.ts';
import { slotsOfMonitor } from './recorded-slots.ts';

/** Slots per query. The first query has few, which is mostly enough. */
const FIRST_CHUNK = 100;
const LARGEST_CHUNK = 4_000;
const GROWTH = 4;

export type ResultRow = Selectable<Database['results']>;

export type ResultSearch = {
  monitorId: number;
  /** The first slot of the search, epoch ms. */
  since: number;
  /** The search ends before this slot, epoch ms; null: no such bound. */
  before: number | null;
  /** null: all. */
  region: string | null;
  /** null: all. */
  outcome: ResultRow['outcome'] | null;
  /** Whether a slot may have such a result; other slots are skipped. Left out: every slot may. */
  mayHave?: (slot: number) => boolean;
  /** The last row of the page before; null: begin with the newest row. */
  after: { slot: number; region: string } | null;
  /** > 0 */
  limit: number;
};

/**
 * The newest results of a monitor, by slot and region, both descending.
 *
 * The key of the table begins with the slot, so the search looks up each slot that the monitor can have had.
 * Each takes a few µs, and 14 days have 40,000 slots.
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
  const { mayHave = () => true } = search;
  for (const slot of await slotsOfMonitor(db, search.monitorId, range)) {
    if (!mayHave(slot)) continue;
    chunk.push(slot);
    if (chunk.length < size) continue;
    await look();
    if (found.length >= search.limit) return found;
  }
  await look();
  return found;
}

/**
 * The range from the oldest to the newest slot of all monitors, within the search; null when there are no
 * results.
 */
async function slotRange(
  db: Kysely<Database>,
  { since, before, after }: ResultSearch,
): Promise<SlotRange | null> {
  // Alone, each aggregate is one step in the table. Both in one query would read the whole table.
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
    until: Math.min(newest, after?.slot ?? newest, before === null ? newest : before - 1),
  };
}

function resultsOf(
  db: Kysely<Database>,
  { monitorId, region, outcome, after }: ResultSearch,
  slots: readonly number[],
  limit: number,
): Promise<ResultRow[]> {
  return (
    db
      .selectFrom('results')
      .selectAll()
      .where('monitor_id', '=', monitorId)
      // All slots are one parameter: the statement does not depend on their count.
      .where(sql<boolean>`slot IN (SELECT value FROM ${numbersAs(slots, 'candidate')})`)
      .$if(region !== null, (from) => from.where('region', '=', region ?? ''))
      .$if(outcome !== null, (from) => from.where('outcome', '=', outcome ?? 'passed'))
      .$if(after !== null, (from) =>
        from.where(sql<boolean>`(slot, region) < (${after?.slot}, ${after?.region})`),
      )
      .orderBy('slot', 'desc')
      .orderBy('region', 'desc')
      .limit(limit)
      .execute()
  );
}
