import { parentPort, workerData } from 'node:worker_threads';
import type { ReadMessage, ReadRequest } from './read.ts';
import { readDeclaredFile } from './read-file.ts';

/**
 * The thread that reads one declared file. It posts the first message at once, and
 * then one message for each message that it receives. So the main thread receives at
 * most one message in each turn of its event loop. The main thread ends this thread.
 */
if (parentPort === null) throw new TypeError('read-worker.ts runs as a worker thread only');

const port = parentPort;
const reading = readDeclaredFile(workerData as ReadRequest);
const postNext = () => port.postMessage(reading.next().value satisfies ReadMessage);
port.on('message', postNext);
postNext();
