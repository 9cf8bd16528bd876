import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '@svc/shared/clock.ts';
import { processMemory, returnMemoryAfterStart } from '@svc/shared/process/process-memory.ts';
import type { WriterData } from './thread-protocol.ts';
import { serveWrites } from './write-requests.ts';

/**
 * The entry of the writing thread. Commits, checkpoints, and the waits of transactions for
 * another program's lock happen on this thread.
 */
if (parentPort === null) throw new TypeError('this is the entry of a worker thread');
serveWrites(parentPort, workerData as WriterData, systemClock);
returnMemoryAfterStart({ memory: processMemory, clock: systemClock });
