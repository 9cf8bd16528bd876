import { parentPort } from 'node:worker_threads';
import type { BodyAnswer, BodyRequest } from './body-protocol.ts';
import { parsedJson } from './parsed-json.ts';
import { checkedBody } from './resource-body.ts';

/** The thread of large bodies: answers one request after the other, and ends when the main thread says so. */
const port = parentPort;
if (port === null) throw new Error('body-worker.ts runs as a worker thread only');

port.on('message', (request: BodyRequest) => {
  const answer = 'text' in request ? parsedJson(request.text) : checkedBody(request.kind, request.body);
  port.postMessage({ answer } satisfies BodyAnswer);
});
