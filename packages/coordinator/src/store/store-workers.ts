import { setFlagsFromString } from 'node:v8';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { ReaderData } from './read-protocol.ts';
import type { WriterData } from './write-protocol.ts';

/** The part of a `Worker` that the store uses. */
export type StoreWorker = Pick<Worker, 'postMessage' | 'ref' | 'unref'> & {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  /** Ends the thread; waits for the running statement, which cannot be interrupted. */
  terminate(): Promise<unknown>;
};

/** Starts the writer and the reader of one database file. */
export type StoreWorkers = {
  readonly writer: (data: WriterData) => StoreWorker;
  readonly reader: (data: ReaderData) => StoreWorker;
};

/**
 * MiB. The threads keep little in V8's memory: the rows of one request. Without a limit V8 lets the garbage
 * of young objects grow to 16 to 64 MiB in each thread before it collects it.
 */
const LIMITS = { maxYoungGenerationSizeMb: 4 };

/** Starts a thread for each. */
export const STORE_THREADS: StoreWorkers = {
  writer: (workerData) =>
    start(new URL('./write-worker.ts', import.meta.url), { name: 'store-writer', workerData }),
  reader: (workerData) =>
    start(new URL('./read-worker.ts', import.meta.url), { name: 'store-reader', workerData }),
};

function start(url: URL, options: WorkerOptions): Worker {
  // A size on the command line is meant for the main thread, which has already read it. V8 would prefer it
  // to this thread's own limit.
  setFlagsFromString('--max-semi-space-size=0');
  return new Worker(url, { ...options, resourceLimits: LIMITS });
}
