import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { isCode } from '@svc/shared/errors.ts';

/** Systems choose the ports of connections and of servers on port 0 above these: Linux from 32,768 on. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_767;

/**
 * A loopback port without a listener, for programs that cannot use port 0, and for programs that return on
 * the same port. Neither a connection, nor a server on port 0, nor another test of the run uses it in
 * between.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (isFirstClaim(port) && (await isFree(port))) return port;
  }
}

/**
 * Claims the port for the rest of the test run, among all its processes. Outside a test run, each claim
 * succeeds.
 */
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
