import { checkEnd } from '../domain/check-end.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { BELIEVED_AHEAD_MS, freshForMs, votableForMs } from '../domain/status.ts';
import type { StoredResult, StoredState } from '../evaluation/restart.ts';
import type { Link } from '../evaluation/state.ts';
import type { ReportedResult, Writes, WrittenState } from '../evaluation/writes.ts';

type Row = { readonly version: number; readonly result: StoredResult };

/**
 * What the database would hold of one monitor at this point of a replay: its state as it was written last, and the
 * results since. A start reads no more than that.
 */
export class StoredSoFar {
  #state: WrittenState | null = null;
  #rows: Row[] = [];

  write({ states, results }: Pick<Writes, 'states' | 'results'>): void {
    for (const reported of results) this.#rows.push(rowOf(reported));
    const last = states.at(-1);
    if (last === undefined) return;
    this.#state = last;
    const oldest = firstNeeded(last);
    this.#rows = this.#rows.filter(({ result }) => result.slot >= oldest);
  }

  /**
   * The state as a start reads it; null: none was written.
   *
   * @param links those of now, which are written at once
   * @param now   epoch ms on the slots' clock
   */
  read(monitor: LiveMonitor | null, links: readonly Link[], now: number): StoredState | null {
    const state = this.#state;
    if (state === null) return null;
    // No row keeps these: a start begins with others.
    const { unwrittenDecisions: _, decidedAnswered: __, ...stored } = state;
    return { ...stored, links, results: this.#results(state, monitor, now) };
  }

  #results(state: WrittenState, monitor: LiveMonitor | null, now: number): StoredResult[] {
    if (monitor === null || !monitor.active) return [];
    const { periodMs, longestCheckMs, version } = monitor;
    const oldest = now - freshForMs(periodMs, longestCheckMs) - votableForMs(periodMs, longestCheckMs);
    const from = Math.max(firstNeeded(state), oldest);
    return this.#rows
      .filter((row) => row.version === version)
      .map(({ result }) => result)
      .filter(({ slot }) => slot >= from && slot <= now + BELIEVED_AHEAD_MS)
      .sort((a, b) => a.slot - b.slot || (a.region < b.region ? -1 : 1));
  }
}

function firstNeeded({ decidedSlot, openSlots }: WrittenState): number {
  return Math.min(decidedSlot, openSlots[0] ?? decidedSlot);
}

function rowOf({ result, region, decidedAfterMs }: ReportedResult): Row {
  const { slot, outcome, version } = result;
  if (outcome === 'not_run') throw new TypeError('a replay tells no results that are not outcomes');
  return {
    version,
    result: {
      region,
      outcome,
      slot,
      decidedAt: decidedAfterMs === null ? null : slot + decidedAfterMs,
      endedAt: checkEnd(result, Number.POSITIVE_INFINITY),
      failedSince: outcome === 'failed' ? slot : null,
      upSlot: outcome === 'failed' ? 0 : slot,
      latency: result.latency ?? null,
      statusCode: result.status_code ?? null,
      errorMessage: result.error_message ?? null,
    },
  };
}
