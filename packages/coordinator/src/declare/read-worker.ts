import { parentPort, workerData } from 'node:worker_threads';
import { packed } from './packed-entries.ts';
import { readDeclaredFile } from './read-file.ts';
import type { ReadAnswer, ReadRequest } from './read-protocol.ts';

/** The reading thread. It reads one declared file, answers once, and ends when the main thread says so. */
if (parentPort === null) throw new TypeError('read-worker.ts runs as a worker thread only');

const { entries, ...outcome } = readDeclaredFile(workerData as ReadRequest);
const pieces = outcome.errors.length > 0 ? [] : packed(entries);
parentPort.postMessage(
  { ...outcome, pieces } satisfies ReadAnswer,
  pieces.map(({ bytes }) => bytes.buffer),
);
