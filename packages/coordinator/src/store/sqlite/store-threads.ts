import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { StoreWorkers } from './store-thread.ts';
import type { ReaderData, WriterData } from './thread-protocol.ts';

/**
 * Memory limits of a thread, MiB. A thread keeps little more than the rows of one request in V8's memory. Without
 * a limit, V8 lets the garbage of young objects grow to 16 to 64 MiB in each thread.
 */
const LIMITS = { maxYoungGenerationSizeMb: 4 };

/** Starts a thread for the writer and for each reader. */
export const STORE_THREADS: StoreWorkers = {
  writer: (data) => start(new URL('./write-worker.ts', import.meta.url), 'store-writer', data),
  reader: (data) => start(new URL('./read-worker.ts', import.meta.url), 'store-reader', data),
};

function start(url: URL, name: string, workerData: WriterData | ReaderData): Worker {
  // V8 would prefer a size from the command line to this thread's own limit. The main thread has already read
  // that size.
  setFlagsFromString('--max-semi-space-size=0');
  return new Worker(url, { name, workerData, resourceLimits: LIMITS });
}
