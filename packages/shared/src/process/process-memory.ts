import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';

/** The memory of this process. */
export interface ProcessMemory {
  /** Resident memory, bytes. */
  residentBytes(): number;
  /**
   * Collects all garbage of this thread and returns free pages to the system. The call holds the thread for
   * 50 to 100 ms when 30 MB are in use.
   */
  collect(): void;
}

/** The memory of this process, as the kernel counts it and V8 collects it. */
export const processMemory: ProcessMemory = {
  residentBytes: () => process.memoryUsage.rss(),
  collect: () => {
    setFlagsFromString('--expose-gc');
    const collect: NodeJS.GCFunction = runInNewContext('gc');
    collect({ type: 'major', flavor: 'last-resort' });
  },
};

type Returning = {
  readonly memory: ProcessMemory;
  readonly clock: Clock;
  /** Gets a line about the returned memory; left out: nothing is logged. */
  readonly log?: Logger;
};

/**
 * Collects garbage, and logs `message` with the returned memory and the time for which the thread was held.
 *
 * @returns resident memory afterwards, bytes
 */
function returnMemory({ memory, clock, log }: Returning, message: string): number {
  const before = memory.residentBytes();
  const startedAt = clock.monotonic();
  memory.collect();
  const after = memory.residentBytes();
  const pausedMs = Math.round(clock.monotonic() - startedAt);
  log?.info({ beforeMiB: inMiB(before), afterMiB: inMiB(after), pausedMs }, message);
  return after;
}

const inMiB = (bytes: number): number => Math.round(bytes / 1_024 ** 2);

/**
 * Time after which a start counts as complete, ms. By then, the code that runs all the time is usually
 * compiled, and a coordinator has usually read the results that waited.
 */
const SETTLED_MS = 10_000;
/**
 * Maximum resident memory at which a process collects garbage after its start, bytes. A larger process would
 * pause for longer and gain little.
 */
const LARGEST_BYTES = 256 * 1_024 ** 2;

/**
 * Returns to the system, once, the memory of this thread that the start no longer needs: garbage, and free
 * pages, which V8 keeps while a thread allocates steadily. The collection holds the thread for 50 to 400 ms.
 * A coordinator sends jobs 200 to 400 ms before their slots, so a longer pause of its main thread would delay
 * the checks that are due during the pause.
 *
 * @returns a function that cancels the return of memory
 */
export function returnMemoryAfterStart(parts: Parameters<typeof returnMemory>[0]): () => void {
  return parts.clock.after(SETTLED_MS, () => {
    if (parts.memory.residentBytes() > LARGEST_BYTES) return;
    returnMemory(parts, 'the memory that the start left behind is returned to the system');
  });
}
