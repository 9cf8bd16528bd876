import { type ConnectionOptions, connect, type Msg, type NatsError } from 'nats';
import type { ApartSubscription } from './bus.ts';
import { SvcError } from './errors.ts';

/** The further connection has ended; what it had not brought is lost. */
export class ApartEnded extends SvcError {
  readonly retryable = true;

  constructor() {
    super('apart-ended', 'a further connection to NATS has ended');
  }
}

/**
 * `Bus.subscribeApart`, see there.
 *
 * @param options those of the connection beside which this one is made
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
  /** Flushes that wait for an answer, which an ended connection never brings. */
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
      // Not drained: that would read to its end what is closed because it is too much.
      await connection.close();
    },
  };
}
