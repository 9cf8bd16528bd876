import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** `changes` is the number of rows written, 0 for statements that only read. */
export type StatementOutcome = { rows: unknown[]; changes: number; lastInsertRowid: number };

const KEPT_STATEMENTS = 256;

/** Runs statements by their text and keeps the last used ones prepared. Belongs to one connection. */
export class Statements {
  readonly #sqlite: DatabaseSync;
  /** In order of use: the first is the one unused for longest. */
  readonly #prepared = new Map<string, StatementSync>();

  constructor(sqlite: DatabaseSync) {
    this.#sqlite = sqlite;
  }

  run(sql: string, parameters: readonly unknown[]): StatementOutcome {
    const statement = this.#prepare(sql);
    const values = parameters as SQLInputValue[];
    if (statement.columns().length > 0) {
      const rows = statement.all(...values);
      return { rows, changes: rows.length, lastInsertRowid: 0 };
    }
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
  }

  #prepare(sql: string): StatementSync {
    const known = this.#prepared.get(sql);
    if (known !== undefined) {
      this.#prepared.delete(sql);
      this.#prepared.set(sql, known);
      return known;
    }
    const statement = this.#sqlite.prepare(sql);
    this.#prepared.set(sql, statement);
    if (this.#prepared.size > KEPT_STATEMENTS) {
      const oldest = this.#prepared.keys().next();
      if (!oldest.done) this.#prepared.delete(oldest.value);
    }
    return statement;
  }
}
