import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { DeclaredEntry } from './declaration.ts';
import { NEXT, type ReadChunk, type ReadOutcome, type ReadRequest } from './read-protocol.ts';

const MAX_HEAP_MIB = 3_072;

export type ReadDeclaration = ReadOutcome & {
  /** Entries in order of dependency; empty when there are errors. */
  readonly entries: readonly DeclaredEntry[];
};

/**
 * Reads and validates the declared file on a thread of its own, and takes the entries over in small chunks.
 * The main thread is never held for more than a few milliseconds.
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
    // 15,000 monitors with positions need some 350 MiB. Beyond the limit the thread ends with an error, and
    // the process does not.
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
  });
  try {
    // `once` also rejects on the worker's `error` event.
    const [outcome] = (await once(worker, 'message', { signal })) as [ReadOutcome];
    const entries: DeclaredEntry[] = [];
    if (outcome.errors.length > 0) return { ...outcome, entries };
    for (;;) {
      const answer = once(worker, 'message', { signal });
      worker.postMessage(NEXT);
      const [chunk] = (await answer) as [ReadChunk];
      if (chunk === null) return { ...outcome, entries };
      entries.push(...chunk);
      await setImmediate();
    }
  } finally {
    await worker.terminate();
  }
}
