import { execFile } from 'node:child_process';
import { access, constants, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isCode, SvcError } from '@svc/shared/errors.ts';
import { MAX_AGENT_MESSAGE_BYTES } from '@svc/shared/messages/heartbeat.ts';
import {
  AGENT_QUEUE,
  heartbeatSubject,
  jobsSubject,
  resultsSubjects,
  runSubject,
} from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';

/**
 * Public nkeys (`U…`) of the users of NATS. The server needs no
 * seeds. While a key is being replaced, its part has two keys.
 */
type PublicKeys = {
  coordinator: readonly string[];
  system: readonly string[];
  /** The agents of a region share a key. */
  agents: ReadonlyMap<Region, readonly string[]>;
};

/** PEM files of a certificate with its chain, and of its key. */
export type ServerTls = { cert: string; key: string };

/** The cluster options of one NATS server. Each server of a cluster has its own configuration. */
export type ClusterOptions = {
  /** Name of the cluster, the same at all servers. */
  name: string;
  /**
   * Name of the server. It is different at each server, because JetStream identifies servers by their names.
   */
  serverName: string;
  /** Address `host:port` at which the server listens for the other servers. */
  listen: string;
  /** Addresses `host:port` of the servers of the cluster. The server's own address may be among them. */
  routes: readonly string[];
  /**
   * Files for TLS between the servers. Each server checks the other servers'
   * certificates with `ca`. Null when all servers are on loopback.
   */
  tls: (ServerTls & { ca: string }) | null;
};

export type ServerOptions = {
  /** Address `host:port` at which the server listens for clients. */
  listen: string;
  /** Folder in which JetStream stores its streams. */
  store: string;
  /** File to which the server writes its process id. */
  pidFile: string;
  /** Files for TLS; null for a server on loopback. */
  tls: ServerTls | null;
  /** The server's cluster options; null when the server is not in a cluster. */
  cluster: ClusterOptions | null;
};

/**
 * Name of the file with the accounts. It is in the same
 * folder as the server's configuration, which includes it.
 */
export const ACCOUNTS_FILE = 'accounts.conf';

/** Lines of configuration with the limits at which the server cuts a connection that does not read. */
export const CONNECTION_BOUNDS = [
  '# A frozen agent must not stall the publishing of jobs for the default 10 s.',
  'write_deadline: "2s"',
  'max_pending: 8MB',
].join('\n');

/**
 * Writes the configuration of a nats-server 2.9.10 or newer. It includes {@link ACCOUNTS_FILE},
 * which several servers can share. When a region is added, the configuration stays as it is.
 */
export function serverConfiguration({ listen, store, pidFile, tls, cluster }: ServerOptions): string {
  return [
    '# Written by "svc region init". Changes by hand stay until it is called again.',
    ...(cluster === null ? [] : [`server_name: ${quoted(cluster.serverName)}`]),
    `listen: ${quoted(listen)}`,
    `pid_file: ${quoted(pidFile)}`,
    'max_payload: 1MB',
    CONNECTION_BOUNDS,
    // The streams of results have their own limits (SVC_RESULTS_MAX_BYTES). Without `max_file`,
    // JetStream refuses a stream while the disk has less room than the stream's limit.
    `jetstream { store_dir: ${quoted(store)}, max_file: 2TB }`,
    ...(tls === null ? [] : [`tls { ${tlsFiles(tls)}, timeout: 3 }`]),
    ...(cluster === null ? [] : clusterBlock(cluster)),
    `include ./${ACCOUNTS_FILE}`,
    '',
  ].join('\n');
}

function clusterBlock({ name, listen, routes, tls }: ClusterOptions): string[] {
  const scheme = tls === null ? 'nats' : 'tls';
  return [
    'cluster {',
    `  name: ${quoted(name)}`,
    `  listen: ${quoted(listen)}`,
    // The server does not announce the addresses inside the cluster
    // to clients, because clients may be unable to reach them.
    '  no_advertise: true',
    ...(tls === null ? [] : [`  tls { ${tlsFiles(tls)}, ca_file: ${quoted(tls.ca)}, timeout: 3 }`]),
    `  routes: [${routes.map((route) => quoted(`${scheme}://${route}`)).join(', ')}]`,
    '}',
  ];
}

const tlsFiles = ({ cert, key }: ServerTls): string => `cert_file: ${quoted(cert)}, key_file: ${quoted(key)}`;

/**
 * Writes the accounts: the coordinator's account, one account per region, and the system account.
 *
 * Permissions inside one shared account would not be enough, because the server does not check
 * the reply subject of a message. An agent could have the answer to its own result delivered
 * to another region's jobs, or to the subject that purges the stream. Between accounts, only
 * messages of exported and imported subjects pass, and NATS itself routes the answers back.
 */
export function accountsBlock({ coordinator, system, agents }: PublicKeys): string {
  const regions = [...agents];
  return [
    'accounts {',
    '  APP: {',
    '    jetstream: enabled',
    `    users: [ ${coordinator.map((key) => `{ nkey: ${key} }`).join(', ')} ]`,
    '    exports: [',
    ...regions.flatMap(([region]) => exportsOf(region).map((line) => `      ${line}`)),
    '    ]',
    '    imports: [',
    ...regions.flatMap(([region]) =>
      saidBy(region).map((subject) => `      ${imported('stream', accountOf(region), subject)}`),
    ),
    '    ]',
    '  }',
    ...regions.flatMap(([region, keys]) => regionAccount(region, keys).map((line) => `  ${line}`)),
    `  SYS: { users: [ ${system.map((key) => `{ nkey: ${key} }`).join(', ')} ] }`,
    '}',
    'system_account: SYS',
    '',
  ].join('\n');
}

/**
 * Maximum number of connections of a region's agents. The coordinator uses at most 1,000 agents of a region.
 * With this limit, the connections of sixty regions stay below the server's maximum of 65,536.
 */
const MAX_CONNECTIONS = 1_024;
/** Maximum number of subscriptions of a region's agents. An agent has three subscriptions. */
const MAX_SUBSCRIPTIONS = 8 * MAX_CONNECTIONS;

/** Name of a region's account. */
const accountOf = (region: Region): string => `R_${region}`;

/** The subjects to which a region's agents publish, without the subjects of results. */
const saidBy = (region: Region): string[] => [heartbeatSubject(region, '*'), runSubject(region, '*')];

function exportsOf(region: Region): string[] {
  const accounts = `accounts: [${accountOf(region)}]`;
  return [
    `{ stream: ${quoted(jobsSubject(region))}, ${accounts} }`,
    ...resultsSubjects(region).map((subject) => `{ service: ${quoted(subject)}, ${accounts} }`),
  ];
}

function regionAccount(region: Region, keys: readonly string[]): string[] {
  const publish = [...resultsSubjects(region), ...saidBy(region)].map(quoted).join(', ');
  const subscribe = [`${jobsSubject(region)} ${AGENT_QUEUE}`, `_INBOX_${region}.>`].map(quoted).join(', ');
  return [
    `${accountOf(region)}: {`,
    '  users: [',
    ...keys.flatMap((key) => [
      `    { nkey: ${key}, permissions: {`,
      `      publish: { allow: [${publish}] }`,
      `      subscribe: { allow: [${subscribe}] }`,
      '    } }',
    ]),
    '  ]',
    '  limits {',
    `    max_connections: ${MAX_CONNECTIONS}, max_subscriptions: ${MAX_SUBSCRIPTIONS}`,
    // Size of the longest message of an agent; a batch of results has 256 KiB.
    // If an agent sends a longer message, the server ends the connection.
    `    max_payload: ${MAX_AGENT_MESSAGE_BYTES}`,
    '  }',
    '  imports: [',
    `    ${imported('stream', 'APP', jobsSubject(region))}`,
    ...resultsSubjects(region).map((subject) => `    ${imported('service', 'APP', subject)}`),
    '  ]',
    // The agents' messages are exported as streams, not as services. For each request to a
    // service, the server keeps a route for the answer, but these messages have no answer.
    `  exports: [ ${saidBy(region)
      .map((subject) => `{ stream: ${quoted(subject)}, accounts: [APP] }`)
      .join(', ')} ]`,
    '}',
  ];
}

function imported(kind: 'stream' | 'service', account: string, subject: string): string {
  return `{ ${kind}: { account: ${account}, subject: ${quoted(subject)} } }`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

const run = promisify(execFile);

/** Folders in which packages install programs. Some of them are often missing from a user's PATH. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/usr/bin'];
/** Folder of the nats-server that `npm start` has installed, relative to the project's folder. */
const OF_THE_PROJECT = '.cache/nats-server';
/** Prefix of the names of the folders in which configurations are checked. */
const DRAFT = '.check-';

/**
 * Lets the nats-server program of this machine check the servers' configurations
 * together with new accounts. If the program is not found, nothing is checked. This is
 * safe, because a server that refuses a new configuration keeps the former configuration.
 *
 * @param folder folder of the configurations; the check makes a temporary folder in it
 * @param configurations texts by the names of their files in the folder
 * @param accounts new text of the file that the configurations include
 * @throws SvcError `nats-configuration` with the server's own message
 */
export async function checkConfiguration(
  folder: string,
  configurations: ReadonlyMap<string, string>,
  accounts: string,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const draft = await mkdtemp(join(folder, DRAFT));
  try {
    await writeFile(join(draft, ACCOUNTS_FILE), accounts, { mode: 0o600 });
    for (const [file, text] of configurations) {
      await writeFile(join(draft, file), text, { mode: 0o600 });
      await check(join(draft, file), join(folder, file), environment);
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Removes temporary folders that a check has left because its
 * process was killed. The caller holds the lock of the folder.
 */
export async function removeCheckedDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(DRAFT)) await rm(join(folder, name), { recursive: true, force: true });
}

async function check(draft: string, shown: string, environment: NodeJS.ProcessEnv): Promise<void> {
  for (const command of commands(environment)) {
    try {
      // Each folder of `PATH` is searched for the program first, so
      // that a process is started only for a program that exists.
      if (command !== environment.SVC_NATS_SERVER) await access(command, constants.X_OK);
      await run(command, ['-t', '-c', draft], { timeout: 10_000 });
      return;
    } catch (error) {
      if (isCode(error, 'ENOENT', 'EACCES', 'ENOTDIR')) continue;
      const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
      const reason = said.replaceAll(draft, shown).split('\n').at(-1);
      const isElsewhere = reason?.includes('no such file') === true;
      const hint = isElsewhere
        ? '. If its files are on another machine or in a container, SVC_NATS_SERVER=none leaves the check out'
        : '';
      throw new SvcError(
        'nats-configuration',
        `nats-server refuses ${shown}: ${reason || 'it says no reason'}; nothing was changed${hint}`,
        { cause: error },
      );
    }
  }
}

function commands({ SVC_NATS_SERVER, PATH = '', npm_package_json }: NodeJS.ProcessEnv): string[] {
  if (SVC_NATS_SERVER) return [SVC_NATS_SERVER];
  // Only npm knows the project's folder, because the bundled command may lie anywhere.
  const project = npm_package_json === undefined ? [] : [join(dirname(npm_package_json), OF_THE_PROJECT)];
  const folders = [...PATH.split(delimiter).filter((folder) => folder !== ''), ...SYSTEM_FOLDERS, ...project];
  return folders.map((folder) => join(folder, 'nats-server'));
}
