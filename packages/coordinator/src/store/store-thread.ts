import { setFlagsFromString } from 'node:v8';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { Logger } from '@svc/shared/log.ts';
import { type StoreError, storeErrorOf } from './errors.ts';
import type { Numbered, Reply } from './thread-protocol.ts';

type Waiting<Answer> = { resolve: (answer: Answer) => void; reject: (error: StoreError) => void };

type Parts<Notice> = {
  readonly url: URL;
  readonly options: WorkerOptions;
  /** The error for waiting requests when the thread ends by itself. */
  readonly lost: () => StoreError;
  /** Takes messages that answer no request. */
  readonly onNotice?: (notice: Notice) => void;
  readonly log: Logger;
};

/**
 * MiB. The threads keep little in V8's memory: the rows of one request. Without a limit V8 lets the garbage
 * of young objects grow to 16 to 64 MiB in each thread before it collects it.
 */
const LIMITS = { maxYoungGenerationSizeMb: 4 };

/**
 * The main thread's side of one worker thread, which answers requests in the order in which they were made. A
 * thread that has ended is not restarted; the caller makes another one.
 */
export class StoreThread<Request, Answer, Notice extends object = never> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting<Answer>>();
  #lastId = 0;
  #end: (() => StoreError) | null = null;

  constructor(parts: Parts<Notice>) {
    // A size on the command line is meant for the main thread, which has already read it. V8 would prefer it
    // to this thread's own limit.
    setFlagsFromString('--max-semi-space-size=0');
    this.#worker = new Worker(parts.url, { ...parts.options, resourceLimits: LIMITS });
    // An open store alone keeps no process alive; a request without an answer does.
    this.#worker.unref();
    this.#worker.on('message', (message: Reply<Answer> | Notice) => {
      if ('id' in message) this.#settle(message);
      else parts.onNotice?.(message);
    });
    this.#worker.on('error', (error) => {
      parts.log.error({ error, thread: parts.options.name }, 'a database thread failed');
    });
    this.#worker.once('exit', () => this.#finish(parts.lost));
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
