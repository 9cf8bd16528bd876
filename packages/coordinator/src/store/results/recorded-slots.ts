import { type Kysely, sql } from 'kysely';
import { candidateSlots, type SlotRange } from '../../verdict/candidate-slots.ts';
import { FINEST_PERIOD_MS, SLOT_STEP_MS } from '../../verdict/schedule.ts';
import { numbersAs } from '../dialect.ts';
import type { Database } from '../schema.ts';
import type { Store } from '../store.ts';

/** Maximum number of rows or slots per query. */
const CHUNK = 2_000;

/** A slot of the monitor `id`, epoch ms. */
export type GivenSlot = { readonly id: number; readonly slot: number };

/**
 * One query reads the monitors whose places in the half minute lie in a span of this width, ms. Of 100,000
 * monitors, 333 have the same place, because places are multiples of {@link SLOT_STEP_MS}.
 */
const PLACES = 10 * SLOT_STEP_MS;

/**
 * The newest decided slot of each monitor with stored votes, in any order; 0: no slot of the monitor is decided.
 */
export async function* decidedSlots({ read }: Store): AsyncGenerator<GivenSlot> {
  for (let place = 0; place < FINEST_PERIOD_MS; place += PLACES) {
    yield* await read
      .selectFrom('monitor_votes')
      .select(['monitor_id as id', 'decided_slot as slot'])
      .where('place', '>=', place)
      .where('place', '<', place + PLACES)
      .execute();
  }
}

/**
 * The newest slot off the grid up to `until` of each monitor that has such a slot, by ascending id of the
 * monitor. Deleted monitors are included.
 */
export function newestOffGridSlots({ read }: Store, until: number): AsyncGenerator<GivenSlot> {
  return inPages((after) =>
    read
      .selectFrom('off_grid_slots')
      .select(({ fn }) => ['monitor_id as id', fn.max('slot').as('slot')])
      .where('monitor_id', '>', after)
      .where('slot', '<=', until)
      .groupBy('monitor_id')
      .orderBy('monitor_id')
      .limit(CHUNK)
      .execute(),
  );
}

/** @param page reads the next rows after an id, ascending */
async function* inPages(page: (after: number) => Promise<GivenSlot[]>): AsyncGenerator<GivenSlot> {
  for (let after = 0; ; ) {
    const rows = await page(after);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** The newest slot that has a result of any monitor; null: there are no results. */
export async function newestRecordedSlot({ read }: Store): Promise<number | null> {
  const row = await read
    .selectFrom('slot_results')
    .select(({ fn }) => fn.max<number | null>('slot').as('slot'))
    .executeTakeFirst();
  return row?.slot ?? null;
}

/**
 * Yields each pair of a monitor and one of these slots that has a result, once for each row of the pair.
 *
 * @param slots epoch ms, without repetitions
 */
export async function* recordedAt({ read }: Store, slots: readonly number[]): AsyncGenerator<GivenSlot> {
  for (let first = 0; first < slots.length; first += CHUNK) {
    const { rows } = await sql<GivenSlot>`
      SELECT monitor_id AS id, slot
      FROM ${numbersAs(slots.slice(first, first + CHUNK), 'asked')} CROSS JOIN slot_results
      WHERE slot = asked.value`.execute(read);
    yield* rows;
  }
}

/**
 * All slots that a monitor's results in the range may have, newest first, whatever periods the monitor has
 * had: a slot every 30 s on its grid, and the stored slots off the grid.
 */
export async function slotsOfMonitor(
  db: Kysely<Database>,
  monitorId: number,
  range: SlotRange,
): Promise<Iterable<number>> {
  const rows = await db
    .selectFrom('off_grid_slots')
    .select('slot')
    .where('monitor_id', '=', monitorId)
    .where('slot', '>=', range.from)
    .where('slot', '<=', range.until)
    .orderBy('slot', 'desc')
    .execute();
  const offGrid = rows.map(({ slot }) => slot);
  return candidateSlots(monitorId, FINEST_PERIOD_MS, range, offGrid);
}
