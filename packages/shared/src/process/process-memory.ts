import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';

/** The memory of this process. */
export interface ProcessMemory {
  /** Resident memory, bytes. */
  residentBytes(): number;
  /**
   * Collects all garbage of this thread and returns free pages to the system. It holds the thread: 50 to 100 ms where 30 MB
   * are in use.
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
  /** Left out: nothing is said. */
  readonly log?: Logger;
};

/**
 * Collects, and tells with the message how much was returned and for how long the thread was held.
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

/** The start has settled: the file is applied, results are read, and pages of code are compiled, ms. */
const SETTLED_MS = 10_000;
/** A larger process would pause for longer, and what its start has left is a small part of it, bytes. */
const LARGEST_BYTES = 256 * 1_024 ** 2;

/**
 * Returns to the system, once, what a start leaves behind in the memory of this thread: garbage, and the pages of V8 that
 * were free at the end of it, which V8 keeps while a thread allocates steadily. It holds the thread for 50 to
 * 400 ms. Jobs are sent 200 to 400 ms before their slots, so a check that falls into a longer pause starts late by the rest.
 *
 * @returns cancels it
 */
export function returnMemoryAfterStart(parts: Parameters<typeof returnMemory>[0]): () => void {
  return parts.clock.after(SETTLED_MS, () => {
    if (parts.memory.residentBytes() > LARGEST_BYTES) return;
    returnMemory(parts, 'the memory that the start left behind is returned to the system');
  });
}
