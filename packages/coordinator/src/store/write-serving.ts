import type { Clock } from '@svc/shared/clock.ts';
import { failureOf, type Numbered, replyTo, type ServedPort } from './thread-protocol.ts';
import type { WriterData, WriterNotice, WriterRequest } from './write-protocol.ts';
import { WriteRequests } from './write-requests.ts';

/**
 * Answers the requests of `port`, in their order, on one connection that writes.
 *
 * @returns a function that closes the connection
 */
export function serveWrites(port: ServedPort, { path, commits }: WriterData, clock: Clock): () => void {
  const durable = new Int32Array(commits);
  const requests = new WriteRequests({
    path,
    onDurable: () => Atomics.add(durable, 0, 1),
    onCheckpointFailure: (error) =>
      port.postMessage({ checkpointFailed: failureOf(error) } satisfies WriterNotice),
    clock,
  });

  port.on('message', (message: Numbered<WriterRequest>) => {
    port.postMessage(replyTo(message, (request) => requests.answer(request)));
    requests.afterAnswer();
  });
  return () => void requests.answer({ kind: 'close' });
}
