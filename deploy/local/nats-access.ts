import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const USER = 'svc';

export type NatsAccess = {
  /** Path of the server's configuration. */
  configFile: string;
  /** Path of a file with the server's URL, user and password, for `SVC_NATS_URL_FILE` of its clients. */
  urlFile: string;
};

/**
 * Writes the configuration of the NATS server of this data folder, and the URL for its clients. Every user of
 * the machine can reach loopback, so the server requires a password. The password is random, stays the same
 * over restarts, and is in files that only the owner may read.
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
    // The file is missing or has no URL: a new password is made.
    return null;
  }
}

/**
 * A crash leaves the whole new file or the former one. Only the owner may read the new file, whatever mode
 * the former one had.
 */
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
    // Without this limit JetStream uses the disk's free space as its limit, and on a small disk it refuses
    // streams that might fill it. The streams have limits of their own.
    `jetstream { store_dir: ${JSON.stringify(store)}, max_file: 2TB }`,
    // A frozen agent must not stall the coordinator's publishing for the default 10 s.
    'write_deadline: "2s"',
    '',
  ].join('\n');
}
