import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../../test/support/configured-store.ts';
import { IS_POSTGRES } from '../../../../../test/support/database.ts';
import { rowsOf } from '../../../../../test/support/store-rows.ts';
import { DAY_MS } from '../../verdict/summary-range.ts';
import { deleteResults } from '../history/retention.ts';
import { writeProgress } from '../history/rollup-progress.ts';
import { abstentionOf, insertReports } from './insert-reports.ts';

const DAY = Date.UTC(2026, 0, 15);
let temporary: TemporaryStore;

beforeEach(async () => {
  temporary = await temporaryStore();
});
afterEach(() => temporary.dispose());

/** Records a result at each of these slots. */
async function record(...slots: number[]): Promise<void> {
  const reports = slots.map((slot) =>
    abstentionOf({ monitorId: 1, version: 1, slot, region: 'hosta-fra', reason: 'no-agent' }),
  );
  await temporary.store.commit(insertReports(reports, DAY));
}

const slots = async () => (await rowsOf(temporary.store, 'slot_results')).map(({ slot }) => slot).sort();

async function days(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relname LIKE 'slot_results_2%' AND relkind = 'r' ORDER BY 1`.execute(
    temporary.store.read,
  );
  return rows.map(({ name }) => name);
}

describe.runIf(IS_POSTGRES)('in PostgreSQL, results lie in a partition for each day', () => {
  test('a partition is made a day ahead, and again when a late result needs one that was dropped', async () => {
    await record(DAY - 1, DAY);
    expect(await days()).toEqual(['slot_results_20260114', 'slot_results_20260115', 'slot_results_20260116']);
    await temporary.store.transaction((tx) =>
      writeProgress(tx, { hour: DAY, phase: 0, day: DAY, afterMonitor: 0 }),
    );
    expect(await deleteResults(temporary.store, DAY)).toBe(1);
    await record(DAY - 2);
    expect(await slots()).toEqual([DAY - 2, DAY]);
  });

  test('whole days are dropped, one in each call, and none before it is rolled up', async () => {
    await record(DAY - 2 * DAY_MS, DAY - DAY_MS, DAY, DAY + 1);
    expect(await deleteResults(temporary.store, DAY + 10 * DAY_MS)).toBe(0);
    await temporary.store.transaction((tx) =>
      writeProgress(tx, { hour: DAY, phase: 0, day: DAY, afterMonitor: 0 }),
    );
    const cutoff = DAY + 23 * 3_600_000;
    expect(await deleteResults(temporary.store, cutoff)).toBe(1);
    expect(await slots()).toEqual([DAY - DAY_MS, DAY, DAY + 1]);
    expect(await deleteResults(temporary.store, cutoff)).toBe(1);
    expect(await deleteResults(temporary.store, cutoff)).toBe(0);
    expect(await slots()).toEqual([DAY, DAY + 1]);
  });
});
