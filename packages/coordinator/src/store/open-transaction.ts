import { Kysely } from 'kysely';
import { StoreError } from './errors.ts';
import type { Database } from './schema.ts';
import { type Execute, sqliteDialect } from './sqlite-dialect.ts';
import type { RowOutcome, SqlStep, SqlValue, Transaction } from './store.ts';
import type { WriterThread } from './writer-thread.ts';

/** A transaction that has begun on the writing thread, until it is committed or ends without a commit. */
export class OpenTransaction implements Transaction {
  readonly db: Kysely<Database>;
  readonly #thread: WriterThread;
  readonly #afterCommit: (() => void)[] = [];
  #isOver = false;

  constructor(thread: WriterThread) {
    this.#thread = thread;
    const execute: Execute = async (sql, parameters) => this.#open().statement(sql, parameters);
    this.db = new Kysely({ dialect: sqliteDialect(execute) });
  }

  async runEach(sql: string, rows: SqlStep['rows']): Promise<readonly RowOutcome[]> {
    return this.#open().each(sql, rows);
  }

  async query<R>(sql: string, parameters: readonly SqlValue[] = []): Promise<R[]> {
    const { rows } = await this.#open().statement(sql, parameters);
    return rows as R[];
  }

  onCommit(task: () => void): void {
    this.#afterCommit.push(task);
  }

  /** @returns the tasks to run now */
  async commit(): Promise<readonly (() => void)[]> {
    const thread = this.#open();
    this.#isOver = true;
    await thread.commit();
    return this.#afterCommit;
  }

  /** Rolls back. Does nothing when that was done already, or when the thread has ended. */
  async rollBack(): Promise<void> {
    this.#isOver = true;
    if (!this.#thread.hasEnded) await this.#thread.rollBack();
  }

  #open(): WriterThread {
    if (!this.#isOver) return this.#thread;
    throw new StoreError('store-error', 'the database was written outside a transaction');
  }
}
