import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { messageOf } from '@svc/shared/errors.ts';
import { parseNatsServers } from '@svc/shared/nats/servers.ts';
import { listenAddress } from '@svc/shared/settings/setting-schemas.ts';
import { UsageError } from '../command.ts';
import type { Given } from '../options.ts';
import type { ClusterOptions, ServerTls } from './configuration.ts';
import type { Initial } from './folder.ts';

const DEFAULT_LISTEN = '127.0.0.1:4222';

export const INIT = {
  listen: { value: 'HOST:PORT', description: `address of the server (the default: ${DEFAULT_LISTEN})` },
  url: {
    value: 'URL',
    description: 'what agents and coordinator connect to (the default: from --listen)',
  },
  cert: {
    value: 'FILE',
    description: "PEM file of the server's certificate; required unless it listens on loopback",
  },
  key: { value: 'FILE', description: "PEM file of the certificate's key" },
  ca: {
    value: 'FILE',
    description:
      'path, on the machines of agents and coordinator, of the CA, where their system does not know it',
  },
  store: {
    value: 'DIR',
    description: "the server's folder of results (the default: jetstream in the folder)",
  },
  'pid-file': { value: 'FILE', description: 'where the server keeps its process id' },
  cluster: { value: 'NAME', description: 'makes the server one of a cluster of this name' },
  'server-name': { value: 'NAME', description: 'its name in the cluster; its file is nats-NAME.conf' },
  'cluster-listen': { value: 'HOST:PORT', description: 'its address for the other servers' },
  'cluster-routes': {
    value: 'LIST',
    description: 'addresses of all servers, host:port, separated by commas',
  },
  'cluster-ca': {
    value: 'FILE',
    description: 'CA of the certificates that the servers show each other; --cert is shown',
  },
} as const;

/**
 * Reads the options of `region init`.
 *
 * @param folder folder of the configuration
 * @param path resolves a path as the user wrote it
 * @throws UsageError when an option is missing or wrong
 */
export function initialOf(
  given: Given<typeof INIT>,
  folder: string,
  path: (text: string) => string,
): Initial {
  const listen = addressIn(given.listen ?? DEFAULT_LISTEN, '--listen');
  const tls = tlsOf(given, path);
  if (tls === null && !isLoopback(listen)) {
    throw new UsageError(
      `--cert and --key are required to listen on ${listen}: keys and jobs must not travel in clear text`,
    );
  }
  const cluster = clusterOf(given, tls, path);
  const name = cluster === null ? 'nats-server' : `nats-server-${cluster.serverName}`;
  const store =
    given.store === undefined ? join(folder, name.replace('nats-server', 'jetstream')) : path(given.store);
  const pidFile = given['pid-file'] === undefined ? join(folder, `${name}.pid`) : path(given['pid-file']);
  const url = given.url ?? `${tls === null ? 'nats' : 'tls'}://${listen}`;
  checkUrl(url, tls);
  if (/[\n\r]/.test(given.ca ?? '')) throw new UsageError('--ca must be one line');
  return {
    server: { listen, store: resolve(store), pidFile: resolve(pidFile), tls, cluster },
    url,
    ca: given.ca ?? null,
  };
}

function checkUrl(url: string, tls: ServerTls | null): void {
  // The value is written into a line of env files.
  if (/[\s"'#]/.test(url)) throw new UsageError('--url must not have blanks, quotes or #');
  let servers: ReturnType<typeof parseNatsServers>;
  try {
    servers = parseNatsServers(url);
  } catch (error) {
    throw new UsageError(`--url ${messageOf(error)}`, { cause: error });
  }
  if (tls !== null && !servers.requiresTls)
    throw new UsageError('--url must begin with tls://: the server has a certificate');
  if (servers.hosts.some((host) => ['0.0.0.0', '::', '*'].includes(host))) {
    throw new UsageError(
      '--url is required: the server listens on all addresses, and agents need one that they reach, as tls://nats.example.com:4222',
    );
  }
}

function tlsOf({ cert, key }: Given<typeof INIT>, path: (text: string) => string): ServerTls | null {
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined)
    throw new UsageError('--cert and --key belong together: give both or neither');
  return { cert: path(cert), key: path(key) };
}

function clusterOf(
  given: Given<typeof INIT>,
  tls: ServerTls | null,
  path: (text: string) => string,
): ClusterOptions | null {
  const { cluster: name, 'server-name': serverName, 'cluster-ca': ca } = given;
  const { 'cluster-listen': listen, 'cluster-routes': routes } = given;
  if (name === undefined) {
    if ((serverName ?? listen ?? routes ?? ca) === undefined) return null;
    throw new UsageError('--cluster is missing: it names the cluster that the server is one of');
  }
  if (serverName === undefined || !/^[\w-]{1,64}$/.test(serverName))
    throw new UsageError(
      '--server-name must be 1 to 64 letters, digits, dashes or underscores, another one for each server',
    );
  if (listen === undefined || routes === undefined)
    throw new UsageError('--cluster-listen and --cluster-routes are required in a cluster');
  const addresses = routes.split(',').map((route) => addressIn(route.trim(), '--cluster-routes'));
  const isLocal = [listen, ...addresses].every(isLoopback);
  if (isLocal && ca === undefined) return { name, serverName, listen, routes: addresses, tls: null };
  if (ca === undefined || tls === null) {
    throw new UsageError(
      '--cluster-ca, --cert and --key are required for servers on several machines: accounts and results must not travel in clear text',
    );
  }
  return {
    name,
    serverName,
    listen: addressIn(listen, '--cluster-listen'),
    routes: addresses,
    tls: { ...tls, ca: path(ca) },
  };
}

function addressIn(text: string, option: string): string {
  const parsed = listenAddress.safeParse(text);
  if (parsed.success) return text;
  throw new UsageError(`${option} must be host:port, with an IPv6 address in brackets, not "${text}"`);
}

function isLoopback(address: string): boolean {
  const host = address.slice(0, address.lastIndexOf(':'));
  return host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'));
}
