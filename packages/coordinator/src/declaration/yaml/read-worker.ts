import { parentPort, workerData } from 'node:worker_threads';
import { readDeclaredFile } from './read-file.ts';
import type { ReadMessage, ReadRequest } from './read-protocol.ts';

/** The reading thread. It reads one declared file, hands over what it reads, and ends when the main thread says so. */
if (parentPort === null) throw new TypeError('read-worker.ts runs as a worker thread only');

const reading = readDeclaredFile(workerData as ReadRequest);
let next = reading.next();
for (; next.done !== true; next = reading.next()) parentPort.postMessage(next.value satisfies ReadMessage);
parentPort.postMessage(next.value satisfies ReadMessage);
