import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { isCode } from '@svc/shared/errors.ts';

/** Systems take the ports of connections and of servers on port 0 from above these: Linux from 32,768 on. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_767;

/**
 * A loopback port on which nobody listens, for programs that cannot be told to take port 0, and for those that
 * come back on the same one. No connection takes it in between, nor does a server on port 0, nor another test of the run.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (isFirstClaim(port) && (await isFree(port))) return port;
  }
}

/** Claims the port for the rest of the run of tests, among all its processes. Outside of one, each claim is the first. */
function isFirstClaim(port: number): boolean {
  const folder = process.env.TESTS_TMPDIR;
  if (folder === undefined) return true;
  try {
    closeSync(openSync(join(folder, `port-${port}`), 'wx'));
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
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
