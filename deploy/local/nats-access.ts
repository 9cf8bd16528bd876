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
  const password = passwordIn(urlFile) ?? randomPassword();
  writePrivate(configFile, natsConfiguration(port, store, password));
  writePrivate(urlFile, `nats://${USER}:${password}@127.0.0.1:${port}\n`);
  return { configFile, urlFile };
}

export type NatsCluster = {
  /** Path of each server's configuration. */
  readonly configFiles: readonly string[];
  /** The addresses for clients, `127.0.0.1:4222`. */
  readonly addresses: readonly string[];
  /** Path of a file with the URLs of all servers, for `SVC_NATS_URL_FILE`. */
  readonly urlFile: string;
};

/**
 * Writes the configurations of NATS servers that form a cluster, and the URLs for
 * their clients. Clients and the servers' own connections require the same password.
 *
 * @param ports of each server: for clients, and for the other servers
 */
export function writeNatsClusterAccess(
  dataDir: string,
  ports: readonly { readonly client: number; readonly route: number }[],
): NatsCluster {
  const urlFile = join(dataDir, 'nats.url');
  const password = passwordIn(urlFile) ?? randomPassword();
  const routes = ports.map(({ route }) => `"nats://${USER}:${password}@127.0.0.1:${route}"`);
  const configFiles = ports.map(({ client, route }, index) => {
    const name = `nats-${index + 1}`;
    const file = join(dataDir, `${name}.conf`);
    const cluster = [
      `server_name: ${name}`,
      'cluster {',
      '  name: svc',
      `  listen: 127.0.0.1:${route}`,
      `  authorization { user: ${USER}, password: ${JSON.stringify(password)} }`,
      `  routes: [${routes.join(', ')}]`,
      '  no_advertise: true',
      '}',
      '',
    ];
    writePrivate(file, natsConfiguration(client, join(dataDir, name), password) + cluster.join('\n'));
    return file;
  });
  const addresses = ports.map(({ client }) => `127.0.0.1:${client}`);
  writePrivate(urlFile, `${addresses.map((each) => `nats://${USER}:${password}@${each}`).join(',')}\n`);
  return { configFiles, addresses, urlFile };
}

export function randomPassword(): string {
  return randomBytes(24).toString('base64url');
}

/** The password in a file with URLs; null: the file is missing or has none. */
export function passwordIn(urlFile: string): string | null {
  try {
    const [first = ''] = readFileSync(urlFile, 'utf8').trim().split(',');
    const { password } = new URL(first);
    return password === '' ? null : password;
  } catch {
    // The file is missing or has no URL: a new password is made.
    return null;
  }
}

/**
 * Writes a file so that a crash leaves the whole new file or the former one. Only the owner may read the new
 * file, whatever mode the former one had.
 */
export function writePrivate(path: string, text: string): void {
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
