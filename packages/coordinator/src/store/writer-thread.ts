import type { Logger } from '@svc/shared/log.ts';
import { closedError, StoreError } from './errors.ts';
import type { PackedWritten, StatementOutcome } from './statements.ts';
import type { RowOutcome, SqlStep } from './store.ts';
import { StoreThread } from './store-thread.ts';
import type { StoreWorkers } from './store-workers.ts';
import type { WriterAnswer, WriterNotice, WriterRequest } from './write-protocol.ts';

/**
 * One life of the writing thread. A transaction belongs to the life that it began in: when the thread dies,
 * its connection closes, which rolls back uncommitted work.
 *
 * @throws StoreError from every method: `store-writer-lost`, `store-closed`, or SQLite's error
 */
export class WriterThread {
  readonly #thread: StoreThread<WriterRequest, WriterAnswer, WriterNotice>;
  /** Counts the thread's durable commits, including those whose answers never came. */
  readonly #commits: Int32Array;

  constructor(path: string, workers: StoreWorkers, log: Logger) {
    const commits = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.#commits = new Int32Array(commits);
    this.#thread = new StoreThread({
      worker: workers.writer({ path, commits }),
      name: 'store-writer',
      lost: () => new StoreError('store-writer-lost', 'the thread that writes the database ended'),
      onNotice: ({ checkpointFailed: { message } }) =>
        log.warn({ reason: message }, 'cannot move the journal into the database file'),
      log,
    });
  }

  get hasEnded(): boolean {
    return this.#thread.hasEnded;
  }

  async begin(): Promise<void> {
    await this.#thread.ask({ kind: 'begin' });
  }

  /** Outside a transaction. */
  async run(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    return (await this.#thread.ask({ kind: 'run', sql, parameters })) as StatementOutcome;
  }

  async statement(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    return (await this.#thread.ask({ kind: 'statement', sql, parameters })) as StatementOutcome;
  }

  async each(sql: string, rows: SqlStep['rows']): Promise<RowOutcome[]> {
    return [...unpacked((await this.#thread.ask({ kind: 'each', sql, rows })) as PackedWritten)];
  }

  async commit(): Promise<void> {
    await this.#durable({ kind: 'commit' }, null);
  }

  async rollBack(): Promise<void> {
    await this.#thread.ask({ kind: 'rollback' });
  }

  async script(steps: readonly SqlStep[]): Promise<Iterable<RowOutcome>[]> {
    const packed = await this.#durable({ kind: 'script', steps });
    return (packed as PackedWritten[]).map((written) => ({ [Symbol.iterator]: () => unpacked(written) }));
  }

  async close(): Promise<void> {
    if (this.#thread.hasEnded) return;
    try {
      await this.#thread.ask({ kind: 'close' });
    } finally {
      await this.#thread.end(closedError);
    }
  }

  /**
   * Makes a request that ends with a commit. If the thread dies after the commit and before its answer, the
   * transaction is durable. The answer is then `ifUnanswered`. Where the caller needs the real answer, it is
   * an error that must not lead to a second try.
   */
  async #durable(request: WriterRequest, ifUnanswered?: WriterAnswer): Promise<WriterAnswer> {
    const before = Atomics.load(this.#commits, 0);
    try {
      return await this.#thread.ask(request);
    } catch (error) {
      if (Atomics.load(this.#commits, 0) === before) throw error;
      if (ifUnanswered !== undefined) return ifUnanswered;
      throw new StoreError(
        'store-unanswered',
        'the database committed the transaction, but the answer was lost',
        {
          cause: error,
        },
      );
    }
  }
}

function* unpacked(written: PackedWritten): Generator<RowOutcome> {
  for (let at = 0; at < written.length; at += 2) {
    yield { changes: written[at] ?? 0, id: written[at + 1] ?? 0 };
  }
}
