import type { Logger } from '@svc/shared/log.ts';
import { StoreError } from '../errors.ts';
import type { StatementOutcome } from '../one-connection.ts';
import { type BegunConnection, runTransaction } from '../open-transaction.ts';
import type { StoreWriter } from '../serial-store.ts';
import type { RowOutcome, SqlStep, Transaction } from '../store.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import type { PackedWritten } from './statements.ts';
import { StoreThread, type StoreWorkers } from './store-thread.ts';
import type { WriterAnswer, WriterNotice, WriterRequest } from './thread-protocol.ts';

type WriterThread = StoreThread<WriterRequest, WriterAnswer, WriterNotice>;

/** The main thread's side of the writing thread. The caller runs one transaction at a time. */
export class Writer implements StoreWriter {
  readonly #thread: WriterThread;
  readonly #log: Logger;
  /** The number of durable commits of transactions, including commits whose answer was lost. */
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

  /**
   * Runs a statement outside the transactions of {@link transaction} and {@link commit}. Migrations use it.
   */
  async run(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    return (await this.#thread.sendRequest({ kind: 'run', sql, parameters })) as StatementOutcome;
  }

  /** Runs `work` in a transaction; see {@link runTransaction}. */
  async transaction<T>(work: (tx: Transaction) => T | Promise<T>) {
    // `deaths` is read before `begin` is sent, because the thread may end in the same turn in which its
    // answer arrives.
    const { deaths } = this.#thread;
    await this.#thread.sendRequest({ kind: 'begin' });
    return runTransaction({ connection: this.#begun(deaths), dialect: sqliteDialect, log: this.#log }, work);
  }

  /** Runs the steps as one transaction. */
  async commit(steps: readonly SqlStep[]): Promise<Iterable<RowOutcome>[]> {
    const packed = await this.#durable(() => this.#thread.sendRequest({ kind: 'script', steps }));
    return (packed as PackedWritten[]).map((written) => ({ [Symbol.iterator]: () => unpacked(written) }));
  }

  /**
   * Closes the connection. If it is the last connection to the file, SQLite then moves the journal into the file.
   */
  async close(): Promise<void> {
    try {
      await this.#thread.sendRequest({ kind: 'close' });
    } finally {
      await this.#thread.close();
    }
  }

  /**
   * Returns the connection of the transaction that has begun on the
   * thread. The transaction is lost if the thread dies.
   *
   * @param deaths how often the thread had died before the transaction began
   */
  #begun(deaths: number): BegunConnection {
    const isGone = () => deaths !== this.#thread.deaths;
    const ask = async (request: WriterRequest) => {
      if (isGone()) throw this.#thread.lost();
      return this.#thread.sendRequest(request);
    };
    return {
      run: async (sql, parameters) => (await ask({ kind: 'run', sql, parameters })) as StatementOutcome,
      runEach: async (sql, rows) => [...unpacked((await ask({ kind: 'each', sql, rows })) as PackedWritten)],
      commit: async () => {
        await this.#durable(() => ask({ kind: 'commit' }), null);
      },
      rollBack: async () => {
        if (!isGone()) await this.#thread.sendRequest({ kind: 'rollback' });
      },
    };
  }

  /**
   * Makes a request that ends with a commit. If the thread dies between the commit and its answer, the
   * transaction is durable. The method then returns `ifUnanswered`. If `ifUnanswered` is absent, the method
   * throws `store-unanswered`, and the caller must not write the same transaction again.
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

function* unpacked(written: PackedWritten): Generator<RowOutcome> {
  for (let at = 0; at < written.length; at += 2) {
    yield { changes: written[at] ?? 0, id: written[at + 1] ?? 0 };
  }
}
