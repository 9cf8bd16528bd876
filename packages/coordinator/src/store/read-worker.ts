import { parentPort, workerData } from 'node:worker_threads';
import type { ReaderData } from './read-protocol.ts';
import { serveReads } from './read-serving.ts';

/** The reading thread. */
if (parentPort === null) throw new TypeError('this is the entry of a worker thread');
serveReads(parentPort, workerData as ReaderData);
