import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { systemClock } from '@svc/shared/clock.ts';
import { processMemory, returnMemoryAfterStart } from '@svc/shared/process/process-memory.ts';
import { serveReads } from './read-requests.ts';
import type { Numbered, ReaderData, ReaderRequest } from './thread-protocol.ts';

/** The entry of a reading thread. */
const port = parentPort;
if (port === null) throw new TypeError('this is the entry of a worker thread');
serveReads(
  port,
  workerData as ReaderData,
  () => receiveMessageOnPort(port)?.message as Numbered<ReaderRequest> | undefined,
);
returnMemoryAfterStart({ memory: processMemory, clock: systemClock });
