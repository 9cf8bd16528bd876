import type { Phases } from '@svc/shared/messages/check-result.ts';
import { sql } from 'kysely';
import { jsonItem, jsonMember, numbersAs } from '../dialect.ts';
import type { Store } from '../store.ts';
import { PHASES } from './result-detail.ts';

/** The results of a bucket, which begins at `at` (epoch ms), and the sums of their phases, ms. */
export type PhaseSums = { at: number; results: number } & { [Phase in keyof Phases]-?: number };

export type PhaseSearch = {
  monitorId: number;
  /** null: all. */
  region: string | null;
  /** Epoch ms; `from` is not after any of the slots. */
  buckets: { from: number; bucketMs: number };
};

/**
 * Sums of the phases of the results that passed or were degraded, by bucket, in any order. A phase that did not
 * happen counts as 0. Results without phases are left out.
 */
export async function phasesOfSlots(
  { read }: Pick<Store, 'read'>,
  slots: readonly number[],
  { monitorId, region, buckets: { from, bucketMs } }: PhaseSearch,
): Promise<PhaseSums[]> {
  const detail = sql.ref('detail');
  const sums = PHASES.map(
    (phase, index) => sql`sum(coalesce(${jsonItem(detail, 'phases', index)}, 0)) AS ${sql.ref(phase)}`,
  );
  const { rows } = await sql<PhaseSums>`
    SELECT slot - (slot - ${from}) % ${bucketMs} AS at, count(*) AS results, ${sql.join(sums)}
    FROM ${numbersAs(slots, 'candidate')} CROSS JOIN results
    WHERE slot = candidate.value AND monitor_id = ${monitorId} AND outcome IN ('passed', 'degraded')
      AND ${jsonMember(detail, 'phases')} IS NOT NULL ${region === null ? sql`` : sql`AND region = ${region}`}
    GROUP BY 1`.execute(read);
  return rows;
}
