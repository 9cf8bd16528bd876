import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { addEncoded, emptyHistogram, encodeHistogram } from '../../verdict/latency-histogram.ts';
import type { StatementOutcome } from '../one-connection.ts';
import { countsText, PhaseSums, ReportSums } from '../results/report-sums.ts';

/**
 * The outcomes of a statement that ran for many rows: `changes` and `lastInsertRowid` of each row in turn.
 * They are in one block of memory, instead of an object for each row.
 */
export type PackedWritten = Float64Array;

type Prepared = { readonly statement: StatementSync; readonly answersRows: boolean };

/** Maximum number of statements that a connection keeps prepared. */
const KEPT_STATEMENTS = 256;

/** Runs the statements of one connection, and keeps the most recently used statements prepared. */
export class Statements {
  readonly #sqlite: DatabaseSync;
  /** Prepared statements by their text. The least recently used statement is first. */
  readonly #prepared = new Map<string, Prepared>();

  constructor(sqlite: DatabaseSync) {
    this.#sqlite = sqlite;
  }

  run(sql: string, parameters: readonly unknown[]): StatementOutcome {
    const { statement, answersRows } = this.#prepare(sql);
    const values = parameters as SQLInputValue[];
    if (answersRows) {
      const rows = statement.all(...values);
      return { rows, changes: rows.length };
    }
    return { rows: [], changes: Number(statement.run(...values).changes) };
  }

  /** Runs a statement that writes once for each row of parameters. */
  runEach(sql: string, rows: readonly (readonly unknown[])[]): PackedWritten {
    const written = new Float64Array(2 * rows.length);
    if (rows.length === 0) return written;
    const { statement } = this.#prepare(sql);
    for (const [index, row] of rows.entries()) {
      const { changes, lastInsertRowid } = statement.run(...(row as SQLInputValue[]));
      written[2 * index] = Number(changes);
      written[2 * index + 1] = Number(lastInsertRowid);
    }
    return written;
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) {
      this.#prepared.delete(sql);
      this.#prepared.set(sql, known);
      return known;
    }
    // The types of parameters (`?::bigint`) are removed, because SQLite has no such types.
    const statement = this.#sqlite.prepare(sql.replaceAll(/\?::\w+/g, '?'));
    const prepared = { statement, answersRows: statement.columns().length > 0 };
    this.#prepared.set(sql, prepared);
    if (this.#prepared.size > KEPT_STATEMENTS) {
      const oldest = this.#prepared.keys().next();
      if (!oldest.done) this.#prepared.delete(oldest.value);
    }
    return prepared;
  }
}

/**
 * Adds SQL functions to a connection. PostgreSQL gets the first three of them by
 * `migrations/postgres-only.ts`. The aggregates sum up on the thread of the
 * connection, so only the sums cross to the main thread.
 *
 * - `database_now()`: the database's clock, epoch ms
 * - `keep_result_day(slot)`: does nothing, because tables of SQLite have no partitions
 * - `merged_histogram(histogram)`: the sum of stored histograms, encoded
 *   as a stored histogram; null: the sum is empty
 * - `report_sums(reports)` and `phase_sums(reports, region)`: see `dialect.ts`
 *
 * Aggregates skip null.
 */
export function registerSqlFunctions(sqlite: DatabaseSync): void {
  sqlite.function('database_now', () => Date.now());
  sqlite.function('keep_result_day', (_slot) => null);
  // The number of an aggregate's arguments is taken from the parameters
  // of `step`, so these have no default values.
  sqlite.aggregate('merged_histogram', {
    deterministic: true,
    start: emptyHistogram,
    step(histogram, value: SQLOutputValue) {
      if (value instanceof Uint8Array) addEncoded(histogram, value);
      return histogram;
    },
    result: encodeHistogram,
  });
  sqlite.aggregate('report_sums', {
    deterministic: true,
    start: stateOf(() => new ReportSums()),
    step(sums: unknown, reports: SQLOutputValue) {
      if (reports instanceof Uint8Array) (sums as ReportSums).add(reports);
      return sums as Accumulator;
    },
    result: (sums: unknown) => countsText((sums as ReportSums).counts()),
  });
  sqlite.aggregate('phase_sums', {
    deterministic: true,
    start: stateOf(() => new PhaseSums()),
    step(sums: unknown, reports: SQLOutputValue, region: SQLOutputValue) {
      if (reports instanceof Uint8Array) (sums as PhaseSums).add(reports, Number(region));
      return sums as Accumulator;
    },
    result: (sums: unknown) => JSON.stringify((sums as PhaseSums).totals()),
  });
}

/**
 * The state of an aggregate. Node passes any value from step to step, although
 * its type definitions allow only values of SQLite.
 */
type Accumulator = SQLInputValue;
function stateOf(start: () => object): () => Accumulator {
  return start as () => Accumulator;
}
