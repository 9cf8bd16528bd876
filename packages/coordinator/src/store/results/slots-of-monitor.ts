import type { Kysely } from 'kysely';
import { candidateSlots, type SlotRange } from '../../verdict/candidate-slots.ts';
import { FINEST_PERIOD_MS } from '../../verdict/schedule.ts';
import type { Database } from '../schema.ts';

/**
 * The slots that results of a monitor may have, newest first, whatever its periods were: those every 30 s on
 * its grids, and those remembered as off the grid.
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
