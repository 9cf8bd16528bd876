import { hasRegion } from '../domain/region-set.ts';
import type { Vote } from '../domain/status.ts';
import type { Surroundings } from '../evaluation/journal-entry.ts';
import type { StoredResult, StoredState } from '../evaluation/restart.ts';
import type { MonitorState } from '../evaluation/state.ts';

/**
 * The state as a start finds it in the database: votes with the instants until which they count, and the reports
 * of undecided slots. Slots without a report are unknown then.
 *
 * @param around the surroundings before the start
 * @param at     the start, epoch ms on the slots' clock
 */
export function storedAs(state: Readonly<MonitorState>, around: Surroundings, at: number): StoredState {
  const { open, votes, ...rest } = state;
  return {
    ...rest,
    votes: votes.map(({ expiresAt, ...vote }) => ({
      ...vote,
      countsUntil: Math.floor(expiresAt - around.ageAheadMs),
    })),
    openSlots: open.map(({ slot }) => slot).filter((slot) => slot <= state.decidedSlot),
    results: open.flatMap(({ reports, answered }) =>
      reports.filter(({ region }) => hasRegion(answered, region)).map(asResult),
    ),
    writtenAt: at,
  };
}

function asResult({ expiresAt: _, at: __, ...vote }: Vote): StoredResult {
  return { ...vote, decidedAt: null };
}
