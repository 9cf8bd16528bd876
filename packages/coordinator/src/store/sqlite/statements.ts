import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import {
  addEncoded,
  addLatency,
  emptyHistogram,
  encodeHistogram,
  type LatencyHistogram,
} from '../../verdict/latency-histogram.ts';
import type { StatementOutcome } from '../one-connection.ts';

/**
 * `changes` and `lastInsertRowid` of each row in turn, in one block of memory instead of an object for each
 * row.
 */
export type PackedWritten = Float64Array;

type Prepared = { readonly statement: StatementSync; readonly answersRows: boolean };

const KEPT_STATEMENTS = 256;

/** Runs the statements of one connection, and keeps the last used ones prepared. */
export class Statements {
  readonly #sqlite: DatabaseSync;
  /** By text. The least recently used one is first. */
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
    // SQLite gives parameters no types.
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
 * Gives a connection the aggregates of the roll-ups. Latencies become histograms on the reading thread, and
 * only the histograms cross to the main thread.
 *
 * - `latency_histogram(latency)`: a histogram of latencies in ms
 * - `merged_histogram(histogram)`: the sum of stored histograms
 *
 * Both skip null. They answer a histogram as it is stored, or null for an empty one.
 */
export function registerSqlFunctions(sqlite: DatabaseSync): void {
  const histogramOf = (add: (histogram: LatencyHistogram, value: SQLOutputValue) => void) => ({
    deterministic: true,
    start: emptyHistogram,
    // SQLite takes the function's number of arguments from these parameters: no default values here.
    step(histogram: LatencyHistogram, value: SQLOutputValue) {
      add(histogram, value);
      return histogram;
    },
    result: encodeHistogram,
  });
  sqlite.aggregate(
    'latency_histogram',
    histogramOf((histogram, value) => {
      if (typeof value === 'number') addLatency(histogram, value);
    }),
  );
  sqlite.aggregate(
    'merged_histogram',
    histogramOf((histogram, value) => {
      if (value instanceof Uint8Array) addEncoded(histogram, value);
    }),
  );
}
