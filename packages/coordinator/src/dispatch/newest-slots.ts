import { sql } from 'kysely';
import { candidateSlots } from '../domain/candidate-slots.ts';
import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
import type { Store } from '../store/store.ts';

/** Rows or monitors asked about per query. */
const CHUNK = 2_000;
/** A slot that lies so many periods before the newest of all says no more than an older one: it is too late for the next. */
const PERIODS = 2;

/**
 * The newest slot that each monitor was given, as far as recorded: decided, with a result of about two
 * periods before the newest of all, or off the grid. What is older makes no difference to when the
 * monitor is due. Monitors without one are not in it. Read on the reading thread.
 */
export async function loadNewestSlots(
  store: Store,
  monitors: Pick<LiveMonitors, 'values'>,
): Promise<Map<number, number>> {
  const newest = new Map<number, number>();
  const note = ({ id, slot }: { id: number; slot: number }) => {
    if (slot > (newest.get(id) ?? 0)) newest.set(id, slot);
  };
  for await (const row of decidedSlots(store)) note(row);
  for await (const row of slotsOffGrid(store)) note(row);
  const { rows } = await sql<{ slot: number | null }>`SELECT max(slot) AS slot FROM results`.execute(
    store.read,
  );
  const until = rows[0]?.slot ?? null;
  if (until === null) return newest;
  const isNews = ([id, slot]: Candidate) => slot > (newest.get(id) ?? 0);
  let chunk: Candidate[] = [];
  for (const monitor of monitors.values()) {
    chunk.push(...candidates(monitor, until).filter(isNews));
    if (chunk.length < CHUNK) continue;
    for (const row of await recordedAmong(store, chunk)) note(row);
    chunk = [];
  }
  for (const row of await recordedAmong(store, chunk)) note(row);
  return newest;
}

/** For the slot clock; null when nothing was ever recorded. */
export function newestOf(slots: ReadonlyMap<number, number>): number | null {
  let newest: number | null = null;
  for (const slot of slots.values()) {
    if (newest === null || slot > newest) newest = slot;
  }
  return newest;
}

/** Monitor and slot. */
type Candidate = readonly [id: number, slot: number];

/**
 * On the grid of the period declared now: slots of an earlier period are remembered as off the grid, or
 * are as old as the last decision that was written.
 */
function candidates({ id, periodMs }: LiveMonitor, until: number): Candidate[] {
  const range = { from: until - PERIODS * periodMs, until };
  return [...candidateSlots(id, periodMs, range, [])].map((slot) => [id, slot]);
}

async function recordedAmong(store: Store, asked: readonly Candidate[]) {
  const { rows } = await sql<{ id: number; slot: number }>`
    SELECT value ->> 0 AS id, value ->> 1 AS slot FROM json_each(${JSON.stringify(asked)}) AS asked
    WHERE EXISTS (SELECT 1 FROM results WHERE slot = asked.value ->> 1 AND monitor_id = asked.value ->> 0)`.execute(
    store.read,
  );
  return rows;
}

async function* decidedSlots(store: Store) {
  for (let after = 0; ; ) {
    const rows = await store.read
      .selectFrom('monitor_states')
      .select(['monitor_id as id', 'decided_slot as slot'])
      .where('monitor_id', '>', after)
      .orderBy('monitor_id')
      .limit(CHUNK)
      .execute();
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** The newest of each monitor that has one. */
async function* slotsOffGrid(store: Store) {
  for (let after = 0; ; ) {
    const rows = await store.read
      .selectFrom('off_grid_slots')
      .select(({ fn }) => ['monitor_id as id', fn.max('slot').as('slot')])
      .where('monitor_id', '>', after)
      .groupBy('monitor_id')
      .orderBy('monitor_id')
      .limit(CHUNK)
      .execute();
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}
