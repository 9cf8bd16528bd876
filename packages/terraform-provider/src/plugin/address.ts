import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Of the path of a Unix socket: 108 bytes with its end on Linux. */
const MAXIMUM_PATH_BYTES = 107;

export type ListenAddress = {
  readonly network: 'unix' | 'tcp';
  /** For gRPC: `unix:/path`, or `127.0.0.1:0` for any free port. */
  readonly target: string;
  /** For Terraform; the port is known once the server listens. */
  address(port: number): string;
  /** May be called more than once, and from an `exit` listener. */
  remove(): void;
};

/**
 * A Unix socket that only this user reaches, in a fresh directory; TCP on loopback on Windows, and where
 * there is no room for such a directory or its path is too long.
 */
export function chooseAddress(platform = process.platform, temporary = tmpdir()): ListenAddress {
  // mkdtemp adds six characters.
  const longest = join(temporary, 'svc-plugin-XXXXXX', 'socket');
  if (platform === 'win32' || Buffer.byteLength(longest) > MAXIMUM_PATH_BYTES) return LOOPBACK;
  let directory: string;
  try {
    directory = mkdtempSync(join(temporary, 'svc-plugin-'));
  } catch {
    // Read-only or missing: TLS with a certificate of each side protects the port as well.
    return LOOPBACK;
  }
  const path = join(directory, 'socket');
  return {
    network: 'unix',
    target: `unix:${path}`,
    address: () => path,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

const LOOPBACK: ListenAddress = {
  network: 'tcp',
  target: '127.0.0.1:0',
  address: (port) => `127.0.0.1:${port}`,
  remove: () => {},
};
