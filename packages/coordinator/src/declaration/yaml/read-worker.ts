import { parentPort, workerData } from 'node:worker_threads';
import type { ReadMessage, ReadRequest } from './read.ts';
import { readDeclaredFile } from './read-file.ts';

/**
 * The reading thread. It reads one declared file. It posts the first message at once and then one for each message
 * that it receives, so that the main thread never has several to take over in one turn. The main thread ends it.
 */
if (parentPort === null) throw new TypeError('read-worker.ts runs as a worker thread only');

const port = parentPort;
const reading = readDeclaredFile(workerData as ReadRequest);
const postNext = () => port.postMessage(reading.next().value satisfies ReadMessage);
port.on('message', postNext);
postNext();
