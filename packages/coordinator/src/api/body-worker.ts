import { createHash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { outlineOf, withSet } from './body-outline.ts';
import type { BodyAnswer, BodyRequest, OutlinedBody } from './body-protocol.ts';
import { parsedJson } from './parsed-json.ts';
import { type CheckedBody, checkedBody } from './resource-body.ts';

/**
 * The thread of large bodies. It answers one request after the other, and ends when the main thread says so.
 */
const port = parentPort;
if (port === null) throw new TypeError('body-worker.ts runs as a worker thread only');

port.on('message', (request: BodyRequest) => {
  const answer = 'kind' in request ? checked(request) : outlined(request.text);
  port.postMessage({ answer } satisfies BodyAnswer);
});

function outlined(text: string): OutlinedBody {
  const read = parsedJson(text);
  if ('malformed' in read) return read;
  const digest = createHash('sha256').update(JSON.stringify(read.value)).digest('base64url');
  return { outline: outlineOf(read.value), digest };
}

/** Validates a body. Its text was found to be JSON before. */
function checked({ text, kind, set }: Extract<BodyRequest, { kind: unknown }>): CheckedBody {
  return checkedBody(kind, withSet(JSON.parse(text), set));
}
