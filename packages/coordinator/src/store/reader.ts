import { Worker } from 'node:worker_threads';
import type { Logger } from '@svc/shared/log.ts';
import { StoreError, storeErrorOf } from './errors.ts';
import type { CheckpointRow, ReaderData, ReaderReply, ReaderRequest } from './read-protocol.ts';

/** Requests that may wait for the reading thread; a page asks for a few at a time. */
export const MAX_WAITING_READS = 1_000;

type Waiting = { resolve: (rows: unknown[]) => void; reject: (error: StoreError) => void };
type Request = ReaderRequest extends infer R ? (R extends ReaderRequest ? Omit<R, 'id'> : never) : never;

/** The main thread's side of the reading thread, which is started by the first request and again when it died. */
export class Reader {
  readonly #path: string;
  readonly #log: Logger;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = 0;
  #closed = false;

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /** @throws StoreError `store-overloaded`, `store-closed`, `store-reader-lost`, or what SQLite answered */
  query(sql: string, parameters: readonly unknown[]): Promise<unknown[]> {
    if (this.#waiting.size >= MAX_WAITING_READS) {
      return Promise.reject(
        new StoreError('store-overloaded', `database: ${MAX_WAITING_READS} reads wait already`),
      );
    }
    return this.#ask({ kind: 'query', sql, parameters });
  }

  /** Moves what is committed from the journal into the database file, as far as nobody has to wait for it. */
  async checkpoint(): Promise<CheckpointRow> {
    const rows = await this.#ask({ kind: 'checkpoint' });
    return rows[0] as CheckpointRow;
  }

  /** What still waits is rejected with `store-closed`; a query in progress cannot be interrupted and is waited for. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#rejectAll(closedError());
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #ask(request: Request): Promise<unknown[]> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#worker ??= this.#start();
      // Before the bookkeeping: what cannot be cloned throws here.
      this.#worker.postMessage({ ...request, id });
      this.#waiting.set(id, { resolve, reject });
      // An open store alone keeps no process alive; somebody who waits for a read does.
      if (this.#waiting.size === 1) this.#worker.ref();
    });
  }

  #start(): Worker {
    const data: ReaderData = { path: this.#path };
    const worker = new Worker(new URL('./read-worker.ts', import.meta.url), {
      name: 'store-reader',
      workerData: data,
    });
    worker.on('message', (reply: ReaderReply) => this.#settle(reply));
    worker.on('error', (error) => this.#log.error({ error }, 'the thread that reads the database failed'));
    worker.once('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#rejectAll(new StoreError('store-reader-lost', 'database: the thread that reads it ended'));
    });
    return worker;
  }

  #settle(reply: ReaderReply): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if (reply.ok) waiting.resolve(reply.rows);
    else waiting.reject(storeErrorOf(reply.failure));
  }

  #rejectAll(error: StoreError): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(error);
  }
}

function closedError(): StoreError {
  return new StoreError('store-closed', 'database: it is closed');
}
