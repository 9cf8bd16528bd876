import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, SvcError } from '@svc/shared/errors.ts';

export type PluginAddress = {
  readonly network: 'unix' | 'tcp';
  /** Address for gRPC: `unix:/path`, or `127.0.0.1:0` for any free port. */
  readonly target: string;
  /** Address for Terraform. The port is known once the server listens. */
  address(port: number): string;
  /** Removes the socket. This may be called more than once, and from an `exit` listener. */
  remove(): void;
};

export type AddressOptions = {
  /** Whether TLS admits only the holder of one client certificate. */
  readonly hasClientCertificate: boolean;
  readonly platform?: NodeJS.Platform;
  readonly temporary?: string;
};

/**
 * Chooses the address that the provider listens on.
 *
 * The address is a Unix socket in a new directory that only this user can access. On Windows, or if such a
 * directory cannot be created or its path is too long, the address is a TCP port on the loopback interface.
 * Every user of the machine can connect to such a port, and every caller of the provider uses the provider's
 * token, so a port requires a client certificate.
 *
 * @throws SvcError `no-private-socket`, if only an unprotected port is possible. Its message says why, and
 *   what to change
 */
export function chooseAddress({
  hasClientCertificate,
  platform = process.platform,
  temporary = tmpdir(),
}: AddressOptions): PluginAddress {
  const found = platform === 'win32' ? NONE_ON_WINDOWS : socketIn(temporary, platform);
  if (!('missing' in found)) return found;
  if (hasClientCertificate) return LOOPBACK;
  throw new SvcError(
    'no-private-socket',
    `without a client certificate only a Unix socket keeps other users away, and none can be made: ${found.missing}`,
  );
}

type Missing = { readonly missing: string };

const NONE_ON_WINDOWS: Missing = {
  missing: '--debug and TF_DISABLE_PLUGIN_TLS do not work on Windows',
};

function socketIn(temporary: string, platform: NodeJS.Platform): PluginAddress | Missing {
  // `XXXXXX` stands for the six characters that mkdtemp adds.
  const bytes = Buffer.byteLength(join(temporary, 'svc-plugin-XXXXXX', 'socket'));
  const maximum = maximumPathBytes(platform);
  if (bytes > maximum) {
    return {
      missing: `its path would have ${bytes} bytes of at most ${maximum}; set TMPDIR to a shorter folder than ${temporary}`,
    };
  }
  let directory: string;
  try {
    directory = mkdtempSync(join(temporary, 'svc-plugin-'));
  } catch (error) {
    // The directory for temporary files is read-only or missing.
    return {
      missing: `set TMPDIR to a writable folder; ${temporary} is not writable (${messageOf(error)})`,
    };
  }
  const path = join(directory, 'socket');
  return {
    network: 'unix',
    target: `unix:${path}`,
    address: () => path,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/**
 * Maximum length of the path of a Unix socket, bytes. The system's limit includes
 * a terminating byte: 108 bytes on Linux, 104 on macOS and the BSDs (`sys/un.h`).
 */
function maximumPathBytes(platform: NodeJS.Platform): number {
  return platform === 'linux' ? 107 : 103;
}

const LOOPBACK: PluginAddress = {
  network: 'tcp',
  target: '127.0.0.1:0',
  address: (port) => `127.0.0.1:${port}`,
  remove: () => {},
};
