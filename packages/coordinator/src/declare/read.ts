import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Entries } from './declaration.ts';
import { PackedEntries } from './packed-entries.ts';
import type { ReadAnswer, ReadOutcome, ReadRequest } from './read-protocol.ts';

const MAX_HEAP_MIB = 3_072;
/** Without a limit, garbage of young objects takes up to 48 MiB beside what lives. */
const MAX_YOUNG_MIB = 12;

export type ReadDeclaration = ReadOutcome & {
  /** Empty when there are errors. */
  readonly entries: Entries;
};

/**
 * Reads and validates the declared file on a thread of its own, and takes the entries over as packed. The main thread is
 * never held for more than a few milliseconds.
 *
 * @throws the worker's error when it died (out of memory, a defect), or the signal's reason
 */
export async function readDeclaration(request: ReadRequest, signal: AbortSignal): Promise<ReadDeclaration> {
  signal.throwIfAborted();
  // A limit on the command line is for the main thread, which has applied it by now. V8 would let it override
  // this thread's own limit.
  setFlagsFromString('--max-old-space-size=0');
  const worker = new Worker(new URL('./read-worker.ts', import.meta.url), {
    name: 'declared-file',
    workerData: request,
    // 15,000 monitors in one piece need some 350 MiB. Beyond the limit the thread ends with an error, and the
    // process does not.
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB, maxYoungGenerationSizeMb: MAX_YOUNG_MIB },
  });
  try {
    // `once` also rejects on the worker's `error` event.
    const [{ pieces, ...outcome }] = (await once(worker, 'message', { signal })) as [ReadAnswer];
    return { ...outcome, entries: new PackedEntries(pieces) };
  } finally {
    await worker.terminate();
  }
}
