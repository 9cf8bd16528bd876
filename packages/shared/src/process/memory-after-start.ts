import { returnMemory } from './process-memory.ts';

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
