import type { Logger } from '@svc/shared/log.ts';
import { Kysely } from 'kysely';
import { StoreError } from '../errors.ts';
import type { Database } from '../schema.ts';
import type { RowOutcome, SqlStep, SqlValue, Transaction } from '../store.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import type { PackedWritten, StatementOutcome } from './statements.ts';
import { StoreThread, type StoreWorkers } from './store-thread.ts';
import type { WriterAnswer, WriterNotice, WriterRequest } from './thread-protocol.ts';

type WriterThread = StoreThread<WriterRequest, WriterAnswer, WriterNotice>;

/** The main thread's side of the writing thread. The caller runs one transaction at a time. */
export class Writer {
  readonly #thread: WriterThread;
  readonly #log: Logger;
  /** The number of durable commits, including commits whose answer was lost. */
  readonly #commits: Int32Array;

  constructor(path: string, workers: StoreWorkers, log: Logger) {
    const commits = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.#commits = new Int32Array(commits);
    this.#log = log;
    this.#thread = new StoreThread({
      start: () => workers.writer({ path, commits }),
      does: 'writes',
      onNotice: ({ checkpointFailed: { message } }) =>
        log.warn({ reason: message }, 'cannot move the journal into the database file'),
      log,
    });
  }

  /** Runs a statement outside the transactions of {@link transaction} and {@link commit}: for migrations. */
  async run(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    return (await this.#thread.sendRequest({ kind: 'run', sql, parameters })) as StatementOutcome;
  }

  /**
   * Runs `work` in a transaction, which is rolled back when `work` or the commit fails.
   *
   * @returns the result of `work`, and the tasks to run after the commit
   */
  async transaction<T>(
    work: (tx: Transaction) => T | Promise<T>,
  ): Promise<{ readonly outcome: T; readonly tasks: readonly (() => void)[] }> {
    // Before the begin: the thread may end in the turn that answers it.
    const { deaths } = this.#thread;
    await this.#thread.sendRequest({ kind: 'begin' });
    const transaction = new OpenTransaction(this.#thread, deaths);
    try {
      const outcome = await work(transaction);
      await this.#durable(() => transaction.commit(), null);
      return { outcome, tasks: transaction.tasks };
    } catch (error) {
      await this.#rollBack(transaction);
      throw error;
    }
  }

  /** Runs the steps as one transaction. */
  async commit(steps: readonly SqlStep[]): Promise<Iterable<RowOutcome>[]> {
    const packed = await this.#durable(() => this.#thread.sendRequest({ kind: 'script', steps }));
    return (packed as PackedWritten[]).map((written) => ({ [Symbol.iterator]: () => unpacked(written) }));
  }

  /** Closes the connection, which moves the journal into the file. */
  async close(): Promise<void> {
    try {
      await this.#thread.sendRequest({ kind: 'close' });
    } finally {
      await this.#thread.close();
    }
  }

  async #rollBack(transaction: OpenTransaction): Promise<void> {
    try {
      await transaction.rollBack();
    } catch (error) {
      // The caller gets the error that made the transaction fail. If this failure lasts, the next transaction
      // reports it.
      this.#log.error({ error }, 'cannot roll back a transaction');
    }
  }

  /**
   * Makes a request that ends with a commit. If the thread dies between the commit and its answer, the
   * transaction is durable. The answer is then `ifUnanswered`. Without one, the error is `store-unanswered`,
   * after which the caller must not write again.
   */
  async #durable(request: () => Promise<WriterAnswer>, ifUnanswered?: WriterAnswer): Promise<WriterAnswer> {
    const before = Atomics.load(this.#commits, 0);
    try {
      return await request();
    } catch (cause) {
      if (Atomics.load(this.#commits, 0) === before) throw cause;
      if (ifUnanswered !== undefined) return ifUnanswered;
      const message = 'the database committed the transaction, but the answer was lost';
      throw new StoreError('store-unanswered', message, { cause });
    }
  }
}

/** A transaction that has begun on the writing thread. It is lost when the thread dies. */
class OpenTransaction implements Transaction {
  readonly db: Kysely<Database>;
  /** The tasks that {@link onCommit} registered. */
  readonly tasks: (() => void)[] = [];
  readonly #thread: WriterThread;
  readonly #deaths: number;
  /**
   * The newest request. Each request waits for the previous one and fails with it, so a failed transaction
   * stays failed.
   */
  #last: Promise<WriterAnswer> = Promise.resolve(null);
  #isOver = false;

  /** @param deaths how often the thread had died before the transaction began */
  constructor(thread: WriterThread, deaths: number) {
    this.#thread = thread;
    this.#deaths = deaths;
    this.db = new Kysely({ dialect: sqliteDialect((sql, parameters) => this.#statement(sql, parameters)) });
  }

  async runEach(sql: string, rows: SqlStep['rows']): Promise<readonly RowOutcome[]> {
    return [...unpacked((await this.#ask({ kind: 'each', sql, rows })) as PackedWritten)];
  }

  async query<R>(sql: string, parameters: readonly SqlValue[] = []): Promise<R[]> {
    const { rows } = await this.#statement(sql, parameters);
    return rows as R[];
  }

  onCommit(task: () => void): void {
    this.tasks.push(task);
  }

  commit(): Promise<WriterAnswer> {
    const committed = this.#ask({ kind: 'commit' });
    this.#isOver = true;
    return committed;
  }

  async rollBack(): Promise<void> {
    this.#isOver = true;
    if (!this.#isGone()) await this.#thread.sendRequest({ kind: 'rollback' });
  }

  async #statement(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    return (await this.#ask({ kind: 'run', sql, parameters })) as StatementOutcome;
  }

  #ask(request: WriterRequest): Promise<WriterAnswer> {
    if (this.#isOver)
      return Promise.reject(new StoreError('store-error', 'the database was written outside a transaction'));
    this.#last = this.#last.then(() => {
      if (this.#isGone()) throw this.#thread.lost();
      return this.#thread.sendRequest(request);
    });
    return this.#last;
  }

  #isGone(): boolean {
    return this.#deaths !== this.#thread.deaths;
  }
}

function* unpacked(written: PackedWritten): Generator<RowOutcome> {
  for (let at = 0; at < written.length; at += 2) {
    yield { changes: written[at] ?? 0, id: written[at + 1] ?? 0 };
  }
}
