import type pg from 'pg';
import type { RowOutcome } from '../store.ts';

/**
 * Number of prepared statements that a connection keeps when an exchange begins. Statements that the exchange itself
 * prepares are forgotten by the next one at the earliest.
 */
const KEPT_STATEMENTS = 256;

type Field = { readonly name: string; readonly dataTypeID: number };

type Statement = { readonly name: string; readonly text: string; fields: readonly Field[] };

/** The prepared statements of one connection, by their text. The least recently used one is first. */
export class PreparedStatements {
  readonly #known = new Map<string, Statement>();
  /** Names of forgotten statements that the server may still keep. */
  #forgotten: string[] = [];
  #last = 0;

  /** The statement with this text, and whether it was already sent to the server to be prepared. */
  find(sql: string): { statement: Statement; isKnown: boolean } {
    const known = this.#known.get(sql);
    const statement = known ?? { name: `s${++this.#last}`, text: numbered(sql), fields: [] };
    this.#known.delete(sql);
    this.#known.set(sql, statement);
    return { statement, isKnown: known !== undefined };
  }

  /** Forgets a statement, so that it is prepared again. Call this when the statement may not be usable. */
  forget(sql: string): void {
    const known = this.#known.get(sql);
    if (known !== undefined) this.#forgotten.push(known.name);
    this.#known.delete(sql);
  }

  /**
   * Forgets the least recently used statements beyond {@link KEPT_STATEMENTS}. Returns the names of all
   * statements that were forgotten since the last call, for the server to forget them too.
   */
  takeForgotten(): string[] {
    for (const sql of this.#known.keys()) {
      if (this.#known.size <= KEPT_STATEMENTS) break;
      this.forget(sql);
    }
    const names = this.#forgotten;
    this.#forgotten = [];
    return names;
  }
}

/** Numbers the parameters of a statement for PostgreSQL: the `?` outside of quotes become `$1`, `$2` and so on. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'[^']*'|"[^"]*"|\?/g, (part) => (part === '?' ? `$${++count}` : part));
}

type Step = { readonly sql: string; readonly rows: readonly (readonly unknown[])[] };

type StepAnswer = {
  /** The rows that the statement answered; empty if the caller does not want the rows. */
  readonly rows: Record<string, unknown>[];
  /** The outcome for each row of parameters. */
  readonly outcomes: RowOutcome[];
};

/**
 * Runs statements, each for many rows of parameters, in one round trip. All messages
 * of PostgreSQL's extended query protocol are sent at once, with one Sync at the end.
 * The server runs them in order. After an error it skips the remaining messages.
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING)
 *
 * This class implements the interface `Submittable` of `pg`, as cursors and COPY do: the client calls
 * `submit` when its connection is free, and then one of the `handle…` methods for each message of the server.
 */
export class Exchange implements pg.Submittable {
  readonly answers: Promise<readonly StepAnswer[]>;
  readonly #statements: PreparedStatements;
  readonly #steps: readonly Step[];
  readonly #keepRows: boolean;
  readonly #made: StepAnswer[];
  readonly #settle: PromiseWithResolvers<readonly StepAnswer[]>;
  /** For each step that has rows: its statement, and its index in {@link #steps}. */
  readonly #running: { readonly statement: Statement; readonly step: number }[] = [];
  /** The index in {@link #running} of the statement whose answers arrive. */
  #at = 0;
  /** The `id` in the row that the running statement answered; 0: it answered none so far. */
  #id = 0;

  constructor(statements: PreparedStatements, steps: readonly Step[], keepRows: boolean) {
    this.#statements = statements;
    this.#steps = steps;
    this.#keepRows = keepRows;
    this.#made = steps.map(() => ({ rows: [], outcomes: [] }));
    this.#settle = Promise.withResolvers();
    this.answers = this.#settle.promise;
  }

  submit(connection: pg.Connection): void {
    connection.stream.cork();
    try {
      // These messages come first, because the server skips messages that follow an error.
      for (const name of this.#statements.takeForgotten()) connection.close({ type: 'S', name }, true);
      for (const [step, { sql, rows }] of this.#steps.entries()) this.#send(connection, step, sql, rows);
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    const running = this.#running[this.#at];
    if (running !== undefined) running.statement.fields = fields;
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const running = this.#running[this.#at];
    if (running === undefined) return;
    const row: Record<string, unknown> = {};
    const described = running.statement.fields;
    // By index, because this loop runs for every row: an iterator would make two objects for each value.
    for (let index = 0; index < described.length; index += 1) {
      const { name, dataTypeID } = described[index] as Field;
      row[name] = decoded(fields[index] ?? null, dataTypeID);
    }
    if (this.#keepRows) this.#made[running.step]?.rows.push(row);
    else if (typeof row.id === 'number') this.#id = row.id;
  }

  handleCommandComplete({ text }: { text: string }): void {
    const running = this.#running[this.#at];
    if (running === undefined) return;
    const { outcomes } = this.#made[running.step] as StepAnswer;
    // `INSERT 0 2`, `UPDATE 3`, `SELECT 1`, `COMMIT`
    const changes = Number(/\d+$/.exec(text)?.[0] ?? 0);
    outcomes.push({ changes, id: changes === 0 ? 0 : this.#id });
    this.#id = 0;
    if (outcomes.length === this.#steps[running.step]?.rows.length) this.#at += 1;
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' });
  }

  handlePortalSuspended(): void {}

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#made);
  }

  handleError(error: Error): void {
    // The server may have skipped the preparation of new statements. A statement whose table another
    // coordinator has migrated fails until it is prepared again.
    for (const { sql } of this.#steps) this.#statements.forget(sql);
    this.#settle.reject(error);
  }

  #send(connection: pg.Connection, step: number, sql: string, rows: Step['rows']): void {
    if (rows.length === 0) return;
    const { statement, isKnown } = this.#statements.find(sql);
    this.#running.push({ statement, step });
    if (!isKnown) {
      connection.parse({ name: statement.name, text: statement.text, types: [] }, true);
      connection.describe({ type: 'S', name: statement.name }, true);
    }
    for (const row of rows) {
      connection.bind({ statement: statement.name, values: row.map(parameterOf) }, true);
      connection.execute({}, true);
    }
  }
}

function parameterOf(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null;
  // Texts of PostgreSQL cannot contain NUL, but a target's answer may.
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}

/** Ids of the PostgreSQL types (pg_type.oid) whose values are decoded as numbers. */
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700]);
const BOOLEAN = 16;
const BYTES = 17;

/**
 * Decodes a value to the form in which SQLite answers it: counts, ids and sums are numbers, booleans are 0 or 1, and
 * bytes are a `Uint8Array`.
 */
function decoded(text: string | null, type: number): unknown {
  if (text === null) return null;
  if (NUMBERS.has(type)) return Number(text);
  if (type === BOOLEAN) return text === 't' ? 1 : 0;
  if (type === BYTES) return new Uint8Array(Buffer.from(text.slice(2), 'hex'));
  return text;
}
