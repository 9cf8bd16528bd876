import type { System } from '../support/system.ts';
import { CHECKED_FROM, PERIOD_S } from './declared-monitors.ts';
import { percentile } from './process-usage.ts';

/** A row of results, in columns that older versions of the database have as well. */
type RecordedCheck = {
  slot: number;
  started_at: number | null;
  latency: number | null;
  recorded_at: number;
  outcome: string;
};

/** Median and 99th percentile, ms. */
export type Spread = { readonly p50: number; readonly p99: number };

/** Checks whose slots lie in one span of time. */
export class RecordedChecks {
  readonly #rows: readonly RecordedCheck[];
  readonly #seconds: number;

  /**
   * @param from epoch ms
   * @param until epoch ms, exclusive
   * @param only a further condition on the rows, in SQL
   */
  static async of(
    system: System,
    from: number,
    until: number,
    only: { readonly where: string; readonly parameters: readonly number[] } = {
      where: '1 = 1',
      parameters: [],
    },
  ): Promise<RecordedChecks> {
    const rows = await system.query<Omit<RecordedCheck, 'started_at'> & { detail: string | null }>(
      `SELECT slot, detail, latency, recorded_at, outcome
       FROM results WHERE slot >= ? AND slot < ? AND ${only.where}`,
      from,
      until,
      ...only.parameters,
    );
    const checks = rows.map(({ detail, ...row }) => ({
      ...row,
      started_at: detail === null ? null : ((JSON.parse(detail).started_at as number | undefined) ?? null),
    }));
    return new RecordedChecks(checks, (until - from) / 1_000);
  }

  private constructor(rows: readonly RecordedCheck[], seconds: number) {
    this.#rows = rows;
    this.#seconds = seconds;
  }

  get count(): number {
    return this.#rows.length;
  }

  get perSecond(): number {
    return this.count / this.#seconds;
  }

  /** Part of the expected checks of this number of monitors that was recorded, 0 to 1. */
  shareOf(monitors: number): number {
    return this.count / (monitors * CHECKED_FROM.length * (this.#seconds / PERIOD_S));
  }

  having(outcome: 'not_run' | 'failed'): number {
    return this.#rows.filter((row) => row.outcome === outcome).length;
  }

  /** Time from the slot to the start of its check. */
  startLateness(): Spread {
    return spreadOf(this.#started().map((row) => row.started_at - row.slot));
  }

  /** Time from the end of the check to the writing of its row. */
  recording(): Spread {
    return spreadOf(this.#started().map((row) => row.recorded_at - row.started_at - (row.latency ?? 0)));
  }

  /** The longest time between two checks that were recorded one after the other. */
  longestPauseMs(): number {
    const recorded = this.#rows.map((row) => row.recorded_at).toSorted((a, b) => a - b);
    return recorded.reduce((longest, at, index) => Math.max(longest, at - (recorded[index - 1] ?? at)), 0);
  }

  /**
   * The starts of checks in ascending order, each with its lateness,
   * and with the time from the end of the check to its recording.
   */
  starts(): { at: number; lateMs: number; recordedMs: number }[] {
    return this.#started()
      .map((row) => ({
        at: row.started_at,
        lateMs: row.started_at - row.slot,
        recordedMs: row.recorded_at - row.started_at - (row.latency ?? 0),
      }))
      .toSorted((a, b) => a.at - b.at);
  }

  #started(): (RecordedCheck & { started_at: number })[] {
    return this.#rows.filter((row): row is RecordedCheck & { started_at: number } => row.started_at !== null);
  }
}

export function spreadOf(values: readonly number[]): Spread {
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99) };
}

export function spreadText({ p50, p99 }: Spread): string {
  return `${p50.toFixed(0)} / ${p99.toFixed(0)}`;
}
