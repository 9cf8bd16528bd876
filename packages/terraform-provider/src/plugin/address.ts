import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, SvcError } from '@svc/shared/errors.ts';

export type PluginAddress = {
  readonly network: 'unix' | 'tcp';
  /** For gRPC: `unix:/path`, or `127.0.0.1:0` for any free port. */
  readonly target: string;
  /** For Terraform; the port is known once the server listens. */
  address(port: number): string;
  /** May be called more than once, and from an `exit` listener. */
  remove(): void;
};

export type AddressOptions = {
  /** Whether calls are taken by TLS, from the holder of one certificate alone. */
  readonly hasClientCertificate: boolean;
  readonly platform?: NodeJS.Platform;
  readonly temporary?: string;
};

/**
 * A Unix socket that only this user reaches, in a fresh directory; TCP on loopback on Windows, and where
 * there is no room for such a directory or its path is too long. A port is open to every user of the
 * machine, and whoever calls the provider uses its token: without a client certificate there is none.
 *
 * @throws Error that says what to set, when only a port is left and nothing protects it
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
    `without a client certificate only a Unix socket keeps other users away, and there is none: ${found.missing}`,
  );
}

type Missing = { readonly missing: string };

const NONE_ON_WINDOWS: Missing = {
  missing: '--debug and TF_DISABLE_PLUGIN_TLS do not work on Windows',
};

function socketIn(temporary: string, platform: NodeJS.Platform): PluginAddress | Missing {
  // mkdtemp adds six characters.
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
    // Read-only or missing.
    return {
      missing: `set TMPDIR to a folder that can be written, ${temporary} cannot (${messageOf(error)})`,
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

/** Of the path of a Unix socket: with its end 108 bytes on Linux, 104 on macOS and the BSDs (`sys/un.h`). */
function maximumPathBytes(platform: NodeJS.Platform): number {
  return platform === 'linux' ? 107 : 103;
}

const LOOPBACK: PluginAddress = {
  network: 'tcp',
  target: '127.0.0.1:0',
  address: (port) => `127.0.0.1:${port}`,
  remove: () => {},
};
