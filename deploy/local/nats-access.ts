import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const USER = 'svc';

export type NatsAccess = {
  /** Of the server's configuration. */
  configFile: string;
  /** Holds the server's URL with user and password; what `SVC_NATS_URL_FILE` of its clients names. */
  urlFile: string;
};

/**
 * Writes the configuration of the NATS server of this data folder, and the URL for its clients. Loopback keeps
 * nobody out who can run programs on this machine, so it asks for a password: random, the same over restarts, in
 * files that only the owner may read.
 */
export function writeNatsAccess(dataDir: string, port: number, store: string): NatsAccess {
  const configFile = join(dataDir, 'nats.conf');
  const urlFile = join(dataDir, 'nats.url');
  const password = passwordIn(urlFile) ?? randomBytes(24).toString('base64url');
  writePrivate(configFile, natsConfiguration(port, store, password));
  writePrivate(urlFile, `nats://${USER}:${password}@127.0.0.1:${port}\n`);
  return { configFile, urlFile };
}

function passwordIn(urlFile: string): string | null {
  try {
    const { password } = new URL(readFileSync(urlFile, 'utf8').trim());
    return password === '' ? null : password;
  } catch {
    // Not there yet, or no URL: a new one is made.
    return null;
  }
}

/** A crash leaves the whole file or the one of before; whatever mode that had, this one is the owner's alone. */
function writePrivate(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}

function natsConfiguration(port: number, store: string, password: string): string {
  return [
    `listen: 127.0.0.1:${port}`,
    `authorization { user: ${USER}, password: ${JSON.stringify(password)} }`,
    // Without a bound of its own JetStream takes the disk's free space for one and refuses, on a small
    // disk, streams that might fill it. The streams have bounds themselves.
    `jetstream { store_dir: ${JSON.stringify(store)}, max_file: 2TB }`,
    // A frozen agent must not stall the coordinator's publishing for the default 10 s.
    'write_deadline: "2s"',
    '',
  ].join('\n');
}
