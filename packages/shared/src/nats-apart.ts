import { type ConnectionOptions, connect, type Msg, type NatsError } from 'nats';
import type { ApartSubscription } from './bus.ts';
import { SvcError } from './errors.ts';

/** The connection of its own to NATS has ended. The messages that it had not brought are lost. */
export class ApartEnded extends SvcError {
  readonly retryable = true;

  constructor() {
    super('apart-ended', 'a separate connection to NATS has ended');
  }
}

/**
 * Connects for `Bus.subscribeApart`, which has the contract.
 *
 * @param options the options of the main connection
 */
export async function connectApart(
  options: ConnectionOptions,
  subject: string,
  callback: (error: NatsError | null, message: Msg) => void,
  onEnd: () => void,
): Promise<ApartSubscription> {
  const name = `${options.name} ${subject}`;
  const connection = await connect({ ...options, name, reconnect: false, waitOnFirstConnect: false });
  let isClosed = false;
  /** Rejections of flushes that wait for an answer. An ended connection never brings one. */
  const flushes = new Set<(reason: ApartEnded) => void>();
  void connection.closed().then(() => {
    for (const reject of flushes) reject(new ApartEnded());
    if (isClosed) return;
    isClosed = true;
    onEnd();
  });
  connection.subscribe(subject, { callback });
  return {
    async flush() {
      if (isClosed) throw new ApartEnded();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      flushes.add(reject);
      connection.flush().then(resolve, reject);
      try {
        await promise;
      } finally {
        flushes.delete(reject);
      }
    },
    async close() {
      isClosed = true;
      // The connection is not drained: draining would read all the messages that are too many.
      await connection.close();
    },
  };
}
