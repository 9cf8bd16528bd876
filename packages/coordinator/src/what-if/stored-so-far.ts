import type { LiveMonitor } from '../domain/monitor.ts';
import { BELIEVED_AHEAD_MS } from '../domain/status.ts';
import {
  firstUndecided,
  readFrom,
  reportAsStored,
  type StoredResult,
  type StoredState,
} from '../evaluation/restart.ts';
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
    const oldest = firstUndecided(last);
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
    const believed = this.#rows.filter(({ result }) => result.slot <= now + BELIEVED_AHEAD_MS);
    // A start knows the newest slot of all monitors. Older results that it leaves out therefore have aged before its end.
    const newest = believed.reduce((latest, { result }) => Math.max(latest, result.slot), 0);
    const from = readFrom(state, monitor, now, newest);
    return believed
      .filter((row) => row.version === monitor.version)
      .map(({ result }) => result)
      .filter(({ slot }) => slot >= from)
      .sort((a, b) => a.slot - b.slot || (a.region < b.region ? -1 : 1));
  }
}

function rowOf(reported: ReportedResult): Row {
  const result = reportAsStored(reported);
  if (result === null) throw new TypeError('a replay tells no results that are not outcomes');
  return { version: reported.result.version, result };
}
