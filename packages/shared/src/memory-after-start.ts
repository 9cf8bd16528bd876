import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';
import type { ProcessMemory } from './process-memory.ts';

/** The start has settled: the file is applied, results are read, and pages of code are compiled, ms. */
const SETTLED_MS = 10_000;
/** A larger process would pause for longer, and what its start has left is a small part of it, bytes. */
const LARGEST_BYTES = 256 * 1_024 ** 2;

type Parts = {
  readonly memory: ProcessMemory;
  readonly clock: Clock;
  /** Left out: nothing is said. */
  readonly log?: Logger;
};

/**
 * Returns to the system, once, what a start leaves behind in the memory of this thread: garbage, and the pages of V8 that
 * were free at the end of it, which V8 keeps while a thread allocates steadily. It holds the thread for 50 to
 * 400 ms. Jobs are sent 200 to 400 ms before their slots, so a check that falls into a longer pause starts late by the rest.
 *
 * @returns cancels it
 */
export function returnMemoryAfterStart({ memory, clock, log }: Parts): () => void {
  return clock.after(SETTLED_MS, () => {
    const before = memory.residentBytes();
    if (before > LARGEST_BYTES) return;
    const startedAt = clock.monotonic();
    memory.collect();
    log?.info(
      {
        beforeMiB: inMiB(before),
        afterMiB: inMiB(memory.residentBytes()),
        pausedMs: Math.round(clock.monotonic() - startedAt),
      },
      'the memory that the start left behind is returned to the system',
    );
  });
}

const inMiB = (bytes: number): number => Math.round(bytes / 1_024 ** 2);
