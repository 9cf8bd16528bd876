import { parentPort, workerData } from 'node:worker_threads';
import { failureOf, type Numbered, replyTo } from './thread-protocol.ts';
import type { WriterData, WriterNotice, WriterRequest } from './write-protocol.ts';
import { WriteRequests } from './write-requests.ts';

/**
 * The writing thread: every commit, every checkpoint and every wait for another program's lock happens here.
 */
const { path, commits } = workerData as WriterData;
const port = parentPort;
if (port === null) throw new TypeError('this is the entry of a worker thread');

const durable = new Int32Array(commits);
const requests = new WriteRequests({
  path,
  onDurable: () => Atomics.add(durable, 0, 1),
  onCheckpointFailure: (error) =>
    port.postMessage({ checkpointFailed: failureOf(error) } satisfies WriterNotice),
});

port.on('message', (message: Numbered<WriterRequest>) => {
  port.postMessage(replyTo(message, (request) => requests.answer(request)));
  requests.afterAnswer();
});
