/**
 * A process that sends everything that a region's key allows, as fast as it can: `node flood.ts URL SUBJECT
 * BYTES CONNECTIONS`, with the nkey's seed in `SEED`, if there is one. It ends when it is killed, or with the
 * process that started it.
 */
import { connect, nkeyAuthenticator } from 'nats';

/** Number of messages that each connection sends before it waits for the server. */
const AT_ONCE = 8;

const [url = '', subject = '', bytes = '1', connections = '1'] = process.argv.slice(2);
const { SEED } = process.env;
const key = SEED === undefined ? {} : { authenticator: nkeyAuthenticator(new TextEncoder().encode(SEED)) };
const message = Buffer.alloc(Number(bytes), 'x');

async function flood(): Promise<void> {
  // A server that is flooded on a busy machine may be too late for a connection, which is tried again.
  const connection = await connect({
    servers: url,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    ...key,
  });
  for (;;) {
    for (let n = 0; n < AT_ONCE; n += 1) connection.publish(subject, message);
    await connection.flush();
  }
}

process.stdin.resume().on('end', () => process.exit());
await Promise.all(Array.from({ length: Number(connections) }, flood));
