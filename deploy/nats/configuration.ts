import { MAX_AGENT_MESSAGE_BYTES } from '@svc/shared/messages/heartbeat.ts';
import { AGENT_QUEUE, agentsSubject, jobsSubject, resultsSubjects } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';

/** Public nkeys (`U…`): the server needs nothing else. */
export type PublicKeys = {
  coordinator: string;
  system: string;
  /** The agents of a region share a key. */
  agents: ReadonlyMap<Region, string>;
};

export type ServerOptions = {
  /** `host:port` */
  listen: string;
  /** Folder of JetStream. */
  store: string;
  /** PEM files; null for a server on loopback. */
  tls: { certificate: string; key: string } | null;
};

/** Limits at which the server cuts a connection that does not read. */
export const CONNECTION_BOUNDS = [
  '# A frozen agent must not stall the publishing of jobs for the default 10 s.',
  'write_deadline: "2s"',
  'max_pending: 8MB',
].join('\n');

/** A whole configuration of a nats-server 2.9.10 or newer: the server, and {@link accountsBlock}. */
export function serverConfiguration(server: ServerOptions, keys: PublicKeys): string {
  const { listen, store, tls } = server;
  return [
    '# Written by deploy/nats/accounts.ts; change it there and reload with "nats-server --signal reload".',
    `listen: ${quoted(listen)}`,
    'max_payload: 1MB',
    CONNECTION_BOUNDS,
    // The stream of results has a bound itself (SVC_RESULTS_MAX_BYTES). Without this one JetStream refuses
    // the stream when the disk has less room at the moment.
    `jetstream { store_dir: ${quoted(store)}, max_file: 2TB }`,
    ...(tls === null
      ? []
      : [`tls { cert_file: ${quoted(tls.certificate)}, key_file: ${quoted(tls.key)}, timeout: 3 }`]),
    accountsBlock(keys),
  ].join('\n');
}

/**
 * One account per region beside the coordinator's account.
 *
 * Permissions inside one shared account are not enough: the server does not check the reply subject of a
 * message. An agent could have the answer to its own result delivered to another region's jobs, or to the
 * stream's purge. Between accounts only exported and imported subjects pass, and answers return by
 * themselves.
 */
export function accountsBlock({ coordinator, system, agents }: PublicKeys): string {
  const regions = [...agents];
  return [
    'accounts {',
    '  APP: {',
    '    jetstream: enabled',
    `    users: [ { nkey: ${coordinator} } ]`,
    '    exports: [',
    ...regions.flatMap(([region]) => exportsOf(region).map((line) => `      ${line}`)),
    '    ]',
    '    imports: [',
    ...regions.map(([region]) => `      ${imported('stream', accountOf(region), agentsSubject(region))}`),
    '    ]',
    '  }',
    ...regions.flatMap(([region, key]) => regionAccount(region, key).map((line) => `  ${line}`)),
    `  SYS: { users: [ { nkey: ${system} } ] }`,
    '}',
    'system_account: SYS',
    '',
  ].join('\n');
}

/**
 * Most connections of a region's agents; the coordinator knows 1,000 agents. All regions together stay below
 * the server's 65,536.
 */
const MAX_CONNECTIONS = 1_024;
/** An agent has three subscriptions. */
const MAX_SUBSCRIPTIONS = 8 * MAX_CONNECTIONS;

const accountOf = (region: Region): string => `R_${region}`;

function exportsOf(region: Region): string[] {
  const accounts = `accounts: [${accountOf(region)}]`;
  return [
    `{ stream: ${quoted(jobsSubject(region))}, ${accounts} }`,
    ...resultsSubjects(region).map((subject) => `{ service: ${quoted(subject)}, ${accounts} }`),
  ];
}

function regionAccount(region: Region, key: string): string[] {
  const publish = [...resultsSubjects(region), agentsSubject(region)].map(quoted).join(', ');
  const subscribe = [`${jobsSubject(region)} ${AGENT_QUEUE}`, `_INBOX_${region}.>`].map(quoted).join(', ');
  return [
    `${accountOf(region)}: {`,
    `  users: [ { nkey: ${key}, permissions: {`,
    `    publish: { allow: [${publish}] }`,
    `    subscribe: { allow: [${subscribe}] }`,
    '  } } ]',
    '  limits {',
    `    max_connections: ${MAX_CONNECTIONS}, max_subscriptions: ${MAX_SUBSCRIPTIONS}`,
    // Size of an agent's longest message; a batch of results has 256 KiB. A longer message ends the
    // connection.
    `    max_payload: ${MAX_AGENT_MESSAGE_BYTES}`,
    '  }',
    '  imports: [',
    `    ${imported('stream', 'APP', jobsSubject(region))}`,
    ...resultsSubjects(region).map((subject) => `    ${imported('service', 'APP', subject)}`),
    '  ]',
    // Not a service: for each request of a service the server keeps a way back for the answer, and nobody
    // answers these messages.
    `  exports: [ { stream: ${quoted(agentsSubject(region))}, accounts: [APP] } ]`,
    '}',
  ];
}

function imported(kind: 'stream' | 'service', account: string, subject: string): string {
  return `{ ${kind}: { account: ${account}, subject: ${quoted(subject)} } }`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
