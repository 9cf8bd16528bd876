import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { isCode } from '@svc/shared/errors.ts';

/** Systems take the ports of connections and of servers on port 0 from above these: Linux from 32,768 on. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_767;

/**
 * A loopback port on which nobody listens, for programs that cannot be told to take port 0, and for those that
 * come back on the same one. No connection takes it in between, nor does a server on port 0.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch (error) {
    if (isCode(error, 'EADDRINUSE')) return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
