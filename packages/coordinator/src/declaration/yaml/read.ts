import { on } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { SvcError } from '@svc/shared/errors.ts';
import type { DeclaredEntry, LocatedError } from './declaration.ts';
import type { Inserted } from './sources.ts';

const MAX_HEAP_MIB = 3_072;
/** Without a limit, garbage of young objects takes up to 48 MiB beside what lives. */
const MAX_YOUNG_MIB = 12;

/** The input of the reading thread. */
export type ReadRequest = {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `SVC_CHANNEL_EGRESS_ALLOW`, for warnings; left out: none. */
  readonly channelEgressAllow?: readonly string[] | undefined;
};

export type ReadOutcome = {
  /** SHA-256 of the file, hex; empty when it could not be read. */
  readonly digest: string;
  /** The sources that were inserted or should have been. */
  readonly inserted: Inserted;
  readonly errors: readonly LocatedError[];
  /** Parts of the declaration that have no effect. */
  readonly warnings: readonly LocatedError[];
};

/** A message of the reading thread: some entries in order of dependency, or at last the outcome. */
export type ReadMessage = readonly DeclaredEntry[] | ReadOutcome;

export type ReadDeclaration = ReadOutcome & {
  /** In order of dependency. Use them only when there are no errors. */
  readonly entries: readonly DeclaredEntry[];
};

/**
 * Reads and validates the declared file on a thread of its own, and takes the entries over as they are read, so that
 * the main thread is never held for more than a few milliseconds.
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
    const entries: DeclaredEntry[] = [];
    // The loop also throws the error of the worker's `error` event.
    for await (const [message] of on(worker, 'message', { signal, close: ['exit'] })) {
      const read = message as ReadMessage;
      if (!isEntries(read)) return { ...read, entries };
      entries.push(...read);
      // Asks for the next entries. Messages that wait are all taken over in one turn, up to 1,000.
      worker.postMessage(null);
    }
    throw new SvcError('file-unreadable', 'the thread that reads the declared file ended before its end');
  } finally {
    await worker.terminate();
  }
}

function isEntries(message: ReadMessage): message is readonly DeclaredEntry[] {
  return Array.isArray(message);
}
