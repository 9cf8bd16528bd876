import { Kysely } from 'kysely';
import { StoreError } from './errors.ts';
import type { Database } from './schema.ts';
import { type Execute, sqliteDialect } from './sqlite-dialect.ts';
import type { RowOutcome, SqlStep, SqlValue, Transaction } from './store.ts';
import type { WriterThread } from './writer-thread.ts';

/** A transaction that has begun on the writing thread, until its commit or its end without one. */
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

  /** @returns the tasks that are to run now */
  async commit(): Promise<readonly (() => void)[]> {
    const thread = this.#open();
    this.#isOver = true;
    await thread.commit();
    return this.#afterCommit;
  }

  /** Does nothing where the transaction is rolled back already, or its thread has ended. */
  async rollBack(): Promise<void> {
    this.#isOver = true;
    if (!this.#thread.hasEnded) await this.#thread.rollBack();
  }

  #open(): WriterThread {
    if (!this.#isOver) return this.#thread;
    throw new StoreError('store-error', 'database: written outside a transaction');
  }
}
