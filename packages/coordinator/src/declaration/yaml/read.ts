import { on } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { SvcError } from '@svc/shared/errors.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { DeclaredEntry, LocatedError } from './declaration.ts';
import type { Inserted } from './sources.ts';

const MAX_HEAP_MIB = 3_072;
/**
 * Maximum size of the thread's heap for young objects, MiB. Without
 * this limit, the heap holds up to 48 MiB more of unused young objects.
 */
const MAX_YOUNG_MIB = 12;

/** The input of the reading thread. */
export type ReadRequest = {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Value of `SVC_CHANNEL_EGRESS_ALLOW`, on which warnings depend; absent: it is not set. */
  readonly channelEgressAllow?: readonly string[] | undefined;
  /** The regions of the installation; absent: the 28. */
  readonly regions?: readonly Region[] | undefined;
};

export type ReadOutcome = {
  /** SHA-256 of the file, hex; empty when the file could not be read. */
  readonly digest: string;
  /**
   * The files and variables that the declaration inserts. Files that
   * cannot be read are included. Variables that are not set are left out.
   */
  readonly inserted: Inserted;
  readonly errors: readonly LocatedError[];
  /** Warnings about parts of the declaration, most of them parts without effect. */
  readonly warnings: readonly LocatedError[];
};

/**
 * A message of the reading thread. The last message is the
 * outcome. All others are entries, in order of dependency.
 */
export type ReadMessage = readonly DeclaredEntry[] | ReadOutcome;

export type ReadDeclaration = ReadOutcome & {
  /** Entries in order of dependency. Use them only if there are no errors. */
  readonly entries: readonly DeclaredEntry[];
};

/**
 * Reads and validates the declared file on a separate thread. Asks that thread for
 * each list of entries, so that a turn of the event loop receives only one list.
 *
 * @throws SvcError `file-unreadable` when the thread ends before the outcome, the error with which it
 *   died (out of memory, a defect), or an error of the name `AbortError` when the signal aborts meanwhile
 */
export async function readDeclaration(request: ReadRequest, signal: AbortSignal): Promise<ReadDeclaration> {
  signal.throwIfAborted();
  // A heap limit on Node's command line is meant for the main thread, which has applied it already. Without
  // this call, V8 would use that limit for the new thread too, instead of the `resourceLimits` below.
  setFlagsFromString('--max-old-space-size=0');
  const worker = new Worker(new URL('./read-worker.ts', import.meta.url), {
    name: 'declared-file',
    workerData: request,
    // 15,000 monitors in one piece need about 350 MiB. A thread that
    // exceeds the limit ends with an error, and the process continues.
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB, maxYoungGenerationSizeMb: MAX_YOUNG_MIB },
  });
  try {
    const entries: DeclaredEntry[] = [];
    // If the thread emits `error`, the loop throws that error.
    for await (const [message] of on(worker, 'message', { signal, close: ['exit'] })) {
      const read = message as ReadMessage;
      if (!isEntries(read)) return { ...read, entries };
      entries.push(...read);
      // Asks for the next entries. If the thread posted all messages without
      // being asked, the port would deliver up to 1,000 of them in one turn.
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
