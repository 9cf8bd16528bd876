import { parentPort, workerData } from 'node:worker_threads';
import { readDeclaredFile } from './read-file.ts';
import { CHUNK_ENTRIES, type ReadChunk, type ReadOutcome, type ReadRequest } from './read-protocol.ts';

/** The reading thread. It reads one declared file, answers, and ends when the main thread says so. */
const port = parentPort;
if (port === null) throw new TypeError('read-worker.ts runs as a worker thread only');

const { entries, ...outcome } = readDeclaredFile(workerData as ReadRequest);
let taken = 0;
port.on('message', () => {
  const chunk: ReadChunk = taken < entries.length ? entries.slice(taken, taken + CHUNK_ENTRIES) : null;
  taken += CHUNK_ENTRIES;
  port.postMessage(chunk);
});
port.postMessage(outcome satisfies ReadOutcome);
