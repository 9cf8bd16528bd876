/**
 * A process that sends everything that a region's key allows, as fast as it can:
 *
 *     node flood.ts URL SUBJECT BYTES CONNECTIONS
 *
 * A `#` in the subject is replaced by another name in each message. `SEED` is the seed of
 * the nkey, if there is one. The process ends when it is killed, or with the process that
 * started it. From time to time, it prints the number of messages that the server has read.
 */
import { connect, nkeyAuthenticator } from 'nats';

/** Number of messages that each connection sends before it waits for the server. */
const AT_ONCE = 8;
/** Number of messages after which the process prints their number again. */
const TOLD_EVERY = 1_000;

const [url = '', subject = '', bytes = '1', connections = '1'] = process.argv.slice(2);
const { SEED } = process.env;
const key = SEED === undefined ? {} : { authenticator: nkeyAuthenticator(new TextEncoder().encode(SEED)) };
const message = Buffer.alloc(Number(bytes), 'x');

let sent = 0;
let named = 0;

async function flood(): Promise<void> {
  // A flooded server on a busy machine may be too slow for a connection, which is then tried again.
  const connection = await connect({
    servers: url,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    ...key,
  });
  for (;;) {
    for (let n = 0; n < AT_ONCE; n += 1) {
      named += 1;
      connection.publish(subject.replace('#', `invented-${named}`), message);
    }
    await connection.flush();
    sent += AT_ONCE;
    if (sent % TOLD_EVERY === 0) console.log(sent);
  }
}

process.stdin.resume().on('end', () => process.exit());
await Promise.all(Array.from({ length: Number(connections) }, flood));
