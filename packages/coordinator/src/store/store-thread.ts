import type { Logger } from '@svc/shared/log.ts';
import { type StoreError, storeErrorOf } from './errors.ts';
import type { StoreWorker } from './store-workers.ts';
import type { Numbered, Reply } from './thread-protocol.ts';

type Waiting<Answer> = { resolve: (answer: Answer) => void; reject: (error: StoreError) => void };

type Parts<Notice> = {
  readonly worker: StoreWorker;
  /** The thread's name in logs. */
  readonly name: string;
  /** The error for waiting requests when the thread ends by itself. */
  readonly lost: () => StoreError;
  /** Takes messages that answer no request. */
  readonly onNotice?: (notice: Notice) => void;
  readonly log: Logger;
};

/**
 * The main thread's side of one worker thread, which answers requests in the order in which they were made. A
 * thread that has ended is not restarted; the caller makes another one.
 */
export class StoreThread<Request, Answer, Notice extends object = never> {
  readonly #worker: StoreWorker;
  readonly #waiting = new Map<number, Waiting<Answer>>();
  #lastId = 0;
  #end: (() => StoreError) | null = null;

  constructor(parts: Parts<Notice>) {
    this.#worker = parts.worker;
    this.#worker.on('message', (received) => {
      const message = received as Reply<Answer> | Notice;
      if ('id' in message) this.#settle(message);
      else parts.onNotice?.(message);
    });
    // An open store alone keeps no process alive; a request without an answer does.
    this.#worker.unref();
    this.#worker.on('error', (error) => {
      parts.log.error({ error, thread: parts.name }, 'a database thread failed');
    });
    this.#worker.on('exit', () => this.#finish(parts.lost));
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  /** Requests that have no answer yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** @throws StoreError SQLite's error, or the error of a thread that has ended */
  ask(request: Request): Promise<Answer> {
    if (this.#end !== null) return Promise.reject(this.#end());
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      // Before the bookkeeping, because a request that cannot be cloned throws here.
      this.#worker.postMessage({ id, request } satisfies Numbered<Request>);
      this.#waiting.set(id, { resolve, reject });
      if (this.#waiting.size === 1) this.#worker.ref();
    });
  }

  /**
   * Rejects waiting requests with `error`, and waits for the running statement, which cannot be interrupted.
   */
  async end(error: () => StoreError): Promise<void> {
    this.#finish(error);
    await this.#worker.terminate();
  }

  #settle(reply: Reply<Answer>): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if (reply.ok) waiting.resolve(reply.answer);
    else waiting.reject(storeErrorOf(reply.failure));
  }

  #finish(error: () => StoreError): void {
    if (this.#end !== null) return;
    this.#end = error;
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(error());
  }
}
