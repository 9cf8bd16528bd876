import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** `changes` is the number of rows written, 0 for statements that only read. */
export type StatementOutcome = { rows: unknown[]; changes: number; lastInsertRowid: number };

/**
 * `changes` and `lastInsertRowid` of each row, one after the other, in one block of memory instead of
 * objects.
 */
export type PackedWritten = Float64Array;

type Prepared = { readonly statement: StatementSync; readonly answersRows: boolean };

const KEPT_STATEMENTS = 256;

/** Runs statements by their text and keeps the last used ones prepared. Belongs to one connection. */
export class Statements {
  readonly #sqlite: DatabaseSync;
  /** In order of use: the first was not used for the longest time. */
  readonly #prepared = new Map<string, Prepared>();

  constructor(sqlite: DatabaseSync) {
    this.#sqlite = sqlite;
  }

  run(sql: string, parameters: readonly unknown[]): StatementOutcome {
    const { statement, answersRows } = this.#prepare(sql);
    const values = parameters as SQLInputValue[];
    if (answersRows) {
      const rows = statement.all(...values);
      return { rows, changes: rows.length, lastInsertRowid: 0 };
    }
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
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
    const statement = this.#sqlite.prepare(sql);
    const prepared = { statement, answersRows: statement.columns().length > 0 };
    this.#prepared.set(sql, prepared);
    if (this.#prepared.size > KEPT_STATEMENTS) {
      const oldest = this.#prepared.keys().next();
      if (!oldest.done) this.#prepared.delete(oldest.value);
    }
    return prepared;
  }
}
