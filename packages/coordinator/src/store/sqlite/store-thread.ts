import type { Worker } from 'node:worker_threads';
import type { Logger } from '@svc/shared/log.ts';
import { closedError, StoreError, storeErrorOf } from '../errors.ts';
import type { Numbered, ReaderData, Reply, WriterData } from './thread-protocol.ts';

/** The part of a `Worker` that the store uses. */
export type StoreWorker = Pick<Worker, 'postMessage' | 'ref' | 'unref'> & {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  /** Ends the thread after its running statement, which cannot be interrupted. */
  terminate(): Promise<unknown>;
};

/** Functions that start the writer and the readers of one database file. */
export type StoreWorkers = {
  readonly writer: (data: WriterData) => StoreWorker;
  readonly reader: (data: ReaderData) => StoreWorker;
};

type Parts<Notice> = {
  readonly start: () => StoreWorker;
  /** The task of the thread, for log lines and for the error code when it dies. */
  readonly does: 'reads' | 'writes';
  /** Takes the messages of the thread that answer no request. */
  readonly onNotice?: (notice: Notice) => void;
  readonly log: Logger;
};

type Waiting<Answer> = { resolve: (answer: Answer) => void; reject: (error: StoreError) => void };

/**
 * The main thread's side of one thread. The thread answers requests in the order in which they were made. The
 * first request starts the thread. If the thread has died, the next request starts it again.
 */
export class StoreThread<Request, Answer, Notice extends object = never> {
  readonly #parts: Parts<Notice>;
  readonly #waiting = new Map<number, Waiting<Answer>>();
  #worker: StoreWorker | null = null;
  #lastId = 0;
  #deaths = 0;
  #isClosed = false;

  constructor(parts: Parts<Notice>) {
    this.#parts = parts;
  }

  /** How often the thread has ended. An open transaction whose COMMIT has not ended is then rolled back. */
  get deaths(): number {
    return this.#deaths;
  }

  /** Number of requests that have no answer yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** @throws StoreError SQLite's error, `store-closed`, `store-reader-lost` or `store-writer-lost` */
  sendRequest(request: Request): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#start();
      const id = ++this.#lastId;
      // `postMessage` comes before the request is recorded as waiting, because it throws if the request
      // cannot be cloned.
      this.#worker.postMessage({ id, request } satisfies Numbered<Request>);
      this.#waiting.set(id, { resolve, reject });
      if (this.#waiting.size === 1) this.#worker.ref();
    });
  }

  /**
   * Rejects waiting requests with `store-closed`. Waits for the
   * running statement, which cannot be interrupted.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectAll(closedError);
    await this.#worker?.terminate();
  }

  /** The error of a request whose thread has died. */
  lost(): StoreError {
    const { does } = this.#parts;
    const code = does === 'writes' ? 'store-writer-lost' : 'store-reader-lost';
    return new StoreError(code, `the thread that ${does} the database ended`);
  }

  #start(): StoreWorker {
    const { start, does, onNotice, log } = this.#parts;
    const worker = start();
    worker.on('message', (received) => {
      const message = received as Reply<Answer> | Notice;
      if ('id' in message) this.#settleRequest(message);
      else onNotice?.(message);
    });
    // An open store does not keep the process alive, but a request without an answer does.
    worker.unref();
    worker.on('error', (error) => log.error({ error, does }, 'a thread of the database failed'));
    worker.on('exit', () => {
      this.#worker = null;
      this.#deaths += 1;
      this.#rejectAll(() => this.lost());
    });
    return worker;
  }

  #settleRequest(reply: Reply<Answer>): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if (reply.ok) waiting.resolve(reply.answer);
    else waiting.reject(storeErrorOf(reply.failure));
  }

  #rejectAll(error: () => StoreError): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(error());
  }
}
