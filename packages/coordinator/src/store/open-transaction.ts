import type { Logger } from '@svc/shared/log.ts';
import { type Dialect, Kysely } from 'kysely';
import { StoreError } from './errors.ts';
import type { Execute, StatementOutcome } from './one-connection.ts';
import type { Database } from './schema.ts';
import type { RowOutcome, SqlStep, SqlValue, Transaction } from './store.ts';

/** A connection on which a transaction has begun. */
export type BegunConnection = {
  readonly run: Execute;
  runEach(sql: string, rows: SqlStep['rows']): Promise<readonly RowOutcome[]>;
  /**
   * Commits the transaction. Resolves also if the answer was lost, when the transaction is known to be durable.
   * If it rejects, the transaction is rolled back, unless the writing thread of SQLite died during the COMMIT:
   * then it may be durable.
   */
  commit(): Promise<void>;
  /** Rolls the transaction back. Does nothing if it has already ended. */
  rollBack(): Promise<void>;
};

type Parts = {
  readonly connection: BegunConnection;
  readonly dialect: (execute: Execute) => Dialect;
  readonly log: Logger;
};

/**
 * Runs `work` in a transaction that has begun, and commits the transaction. If `work`
 * or the commit fails, the transaction is rolled back.
 *
 * @returns the result of `work`, and the tasks to run after the commit
 */
export async function runTransaction<T>(
  { connection, dialect, log }: Parts,
  work: (tx: Transaction) => T | Promise<T>,
): Promise<{ readonly outcome: T; readonly tasks: readonly (() => void)[] }> {
  const transaction = new OpenTransaction(connection, dialect);
  try {
    const outcome = await work(transaction);
    await transaction.commit();
    return { outcome, tasks: transaction.tasks };
  } catch (error) {
    await transaction.rollBack().catch((failure: unknown) => {
      // The caller gets the error that made the transaction fail. If rolling back keeps failing, the next
      // transaction reports that.
      log.error({ error: failure }, 'cannot roll back a transaction');
    });
    throw error;
  }
}

class OpenTransaction implements Transaction {
  readonly db: Kysely<Database>;
  /** The tasks that {@link onCommit} registered. */
  readonly tasks: (() => void)[] = [];
  readonly #connection: BegunConnection;
  /**
   * The newest request. Each request waits for the previous one and fails with it, so a failed transaction
   * stays failed.
   */
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(connection: BegunConnection, dialect: Parts['dialect']) {
    this.#connection = connection;
    this.db = new Kysely({ dialect: dialect((sql, parameters) => this.#statement(sql, parameters)) });
  }

  runEach(sql: string, rows: SqlStep['rows']): Promise<readonly RowOutcome[]> {
    return this.#ask(() => this.#connection.runEach(sql, rows));
  }

  async query<R>(sql: string, parameters: readonly SqlValue[] = []): Promise<R[]> {
    const { rows } = await this.#statement(sql, parameters);
    return rows as R[];
  }

  onCommit(task: () => void): void {
    this.tasks.push(task);
  }

  commit(): Promise<void> {
    const committed = this.#ask(() => this.#connection.commit());
    this.#isOver = true;
    return committed;
  }

  async rollBack(): Promise<void> {
    this.#isOver = true;
    await this.#connection.rollBack();
  }

  #statement(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    return this.#ask(() => this.#connection.run(sql, parameters));
  }

  #ask<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    if (this.#isOver)
      return Promise.reject(new StoreError('store-error', 'the database was written outside a transaction'));
    const answer = this.#last.then(request);
    this.#last = answer;
    return answer;
  }
}
