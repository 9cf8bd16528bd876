import { MessageChannel } from 'node:worker_threads';
import type { Clock } from '@svc/shared/clock.ts';
import { serveReads } from './read-requests.ts';
import type { StoreWorker, StoreWorkers } from './store-thread.ts';
import type { ServedPort } from './thread-protocol.ts';
import { serveWrites } from './write-requests.ts';

/**
 * Does the work of a store's threads on the calling thread, by the same code and the same
 * messages. Messages are cloned, and arrive in a later turn of the event loop. Use it in tests,
 * and in programs that do nothing else meanwhile: while a statement waits for another
 * program's lock, the whole process waits.
 *
 * @param clock the clock for checkpoints
 * @param reads wraps the port through which requests to read arrive
 */
export function storeInProcess(
  clock: Clock,
  reads: (port: ServedPort) => ServedPort = (port) => port,
): StoreWorkers {
  return {
    writer: (data) => servedHere((port) => serveWrites(port, data, clock)),
    reader: (data) => servedHere((port) => serveReads(reads(port), data)),
  };
}

function servedHere(serve: (port: ServedPort) => () => void): StoreWorker {
  const { port1, port2 } = new MessageChannel();
  const close = serve(port2);
  port2.unref();
  return Object.assign(port1, {
    async terminate() {
      port1.close();
      close();
    },
  });
}
