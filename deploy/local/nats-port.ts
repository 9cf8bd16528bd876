import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { isCode, SvcError } from '@svc/shared/errors.ts';

/**
 * Chooses a port of loopback for a server of this data folder. It is the port that `file` names if it is
 * free, so that clients that outlive a restart find the server again, or else another free port, which `file`
 * then names.
 */
export async function choosePort(file: string): Promise<number> {
  const remembered = Number(await readFile(file, 'utf8').catch(missingIsEmpty));
  if (Number.isInteger(remembered) && remembered > 0 && (await bind(remembered)) !== null) return remembered;
  const port = await bind(0);
  if (port === null) throw new SvcError('no-free-port', 'there is no free port on loopback');
  await writeFile(file, `${port}\n`);
  return port;
}

function missingIsEmpty(error: unknown): string {
  if (isCode(error, 'ENOENT')) return '';
  throw error;
}

/** The port if it could be bound and is free again; otherwise null. */
function bind(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
