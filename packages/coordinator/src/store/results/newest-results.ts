import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { SlotRange } from '../../verdict/candidate-slots.ts';
import { numbersAs } from '../dialect.ts';
import type { Database } from '../schema.ts';
import type { Store } from '../store.ts';
import { namesOfAgents } from './agent-names.ts';
import { slotsOfMonitor } from './recorded-slots.ts';
import { REGIONS_PER_ROW, storedRegionNumbers } from './region-numbers.ts';
import { readReports, type SlotReport } from './report-bytes.ts';

/**
 * Number of slots in the first query, which usually suffice. Each further query has {@link GROWTH} times as
 * many slots as the query before, and at most {@link LARGEST_CHUNK}.
 */
const FIRST_CHUNK = 100;
const LARGEST_CHUNK = 2_000;
const GROWTH = 4;

/**
 * A region's result of a slot. `agent` is the name of the agent; null: no
 * agent reported, or its name is not stored any more.
 */
export type RecordedResult = Omit<SlotReport, 'agent'> & {
  /** Epoch ms. */
  readonly slot: number;
  readonly agent: string | null;
};

export type ResultSearch = {
  monitorId: number;
  /** Only slots at or after this instant, epoch ms. */
  since: number;
  /** Only slots before this instant, epoch ms; null: up to the newest slot. */
  before: number | null;
  /** Null: all regions. */
  region: Region | null;
  /** Null: all outcomes. */
  outcome: Outcome | null;
  /**
   * Tells whether a slot may have a matching result. Slots for which it returns
   * false are skipped. If it is absent, no slot is skipped.
   */
  mayHave?: (slot: number) => boolean;
  /** The last result of the previous page; null: begin with the newest result. */
  after: { slot: number; region: string } | null;
  /** > 0 */
  limit: number;
};

/**
 * The newest results of a monitor that match, by slot and region, both descending.
 *
 * The key of the table begins with the slot, so the search looks up each slot that the monitor can have had.
 * Looking up a slot takes a few µs, and 14 days have 40,000 slots.
 */
export async function newestResults(
  { read: db }: Pick<Store, 'read'>,
  search: ResultSearch,
): Promise<RecordedResult[]> {
  const found = await newestReports(db, search);
  const numbers = found.flatMap(({ agent }) => (agent === null ? [] : [agent]));
  const names = await namesOfAgents(db, numbers);
  return found.map(({ agent, ...report }) => {
    return { ...report, agent: agent === null ? null : (names.get(agent) ?? null) };
  });
}

type FoundReport = SlotReport & { readonly slot: number };

async function newestReports(db: Kysely<Database>, search: ResultSearch): Promise<FoundReport[]> {
  const range = await slotRange(db, search);
  if (range === null) return [];
  const found: FoundReport[] = [];
  let chunk: number[] = [];
  let size = FIRST_CHUNK;
  const look = async () => {
    found.push(...(await reportsOf(db, search, chunk, search.limit - found.length)));
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

/** The part of the searched range in which there are results of any monitor; null: there are no results. */
async function slotRange(
  db: Kysely<Database>,
  { since, before, after }: ResultSearch,
): Promise<SlotRange | null> {
  // Each aggregate is a subquery of its own, so that it reads one entry of the table. Together in one query,
  // the aggregates would read the whole table.
  const { oldest, newest } = await db
    .selectNoFrom([
      (of) =>
        of
          .selectFrom('slot_results')
          .select(({ fn }) => fn.min('slot').as('slot'))
          .as('oldest'),
      (of) =>
        of
          .selectFrom('slot_results')
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

async function reportsOf(
  db: Kysely<Database>,
  search: ResultSearch,
  /** Newest first. */
  slots: readonly number[],
  limit: number,
): Promise<FoundReport[]> {
  const { monitorId, region, outcome } = search;
  const [newest, oldest] = [slots[0], slots.at(-1)];
  if (newest === undefined || oldest === undefined) return [];
  const numbers = await storedRegionNumbers({ read: db });
  const number = region === null ? null : numbers.numberIn(region);
  if (region !== null && number === null) return [];
  const rows = await db
    .selectFrom('slot_results')
    .select(['slot', 'reports'])
    .where('monitor_id', '=', monitorId)
    // All slots are passed as one parameter, so the statement does not depend on their number.
    .where(sql<boolean>`slot IN (SELECT value FROM ${numbersAs(slots, 'candidate')})`)
    // The numbers do not tell PostgreSQL their range. Without it, PostgreSQL may read the index of all results.
    .where('slot', '>=', oldest)
    .where('slot', '<=', newest)
    .$if(number !== null, (rows) => rows.where(hasReportOf(number ?? 0)))
    .orderBy('slot', 'desc')
    // Without a filter by outcome, each row has a wanted result. The rows of the slot of `after` are an
    // exception: all their results may be on the previous page. The limit may cut off rows of the last slot, so
    // the rows of the other slots must suffice.
    .$if(outcome === null, (rows) => rows.limit(limit + 2 * numbers.mostRows))
    .execute();
  const found: FoundReport[] = [];
  for (let first = 0; first < rows.length && found.length < limit; ) {
    const slot = rows[first]?.slot ?? 0;
    const wanted: SlotReport[] = [];
    for (; rows[first]?.slot === slot; first += 1) {
      const { reports } = rows[first] as (typeof rows)[number];
      wanted.push(...readReports(slot, reports, numbers, (...of) => isWanted(slot, ...of, search)));
    }
    wanted.sort((a, b) => (a.region < b.region ? 1 : -1));
    for (const report of wanted) found.push({ ...report, slot });
  }
  return found.slice(0, limit);
}

/** Whether the row has a report of the region with this number. */
function hasReportOf(number: number): RawBuilder<boolean> {
  const place = number % REGIONS_PER_ROW;
  return sql<boolean>`part = ${(number - place) / REGIONS_PER_ROW} AND (regions & ${1 << place}) <> 0`;
}

function isWanted(
  slot: number,
  reporting: Region,
  reported: Outcome,
  { region, outcome, after }: ResultSearch,
): boolean {
  if (region !== null && reporting !== region) return false;
  if (outcome !== null && reported !== outcome) return false;
  return after === null || slot < after.slot || (slot === after.slot && reporting < after.region);
}
