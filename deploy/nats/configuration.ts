import { MAX_AGENT_MESSAGE_BYTES } from '@svc/shared/messages/heartbeat.ts';
import { AGENT_QUEUE, agentsSubject, jobsSubject, resultsSubjects } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';

/** Public nkeys (`U…`): the server knows no more. */
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

/** When the server cuts a connection off that does not read. */
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
    // The stream of results has a bound itself (SVC_RESULTS_MAX_BYTES); without this one JetStream refuses
    // it where the disk has less room at the moment.
    `jetstream { store_dir: ${quoted(store)}, max_file: 2TB }`,
    ...(tls === null
      ? []
      : [`tls { cert_file: ${quoted(tls.certificate)}, key_file: ${quoted(tls.key)}, timeout: 3 }`]),
    accountsBlock(keys),
  ].join('\n');
}

/**
 * One account per region beside the coordinator's.
 *
 * Permissions inside one shared account do not hold: the server does not check the reply subject of a
 * message, so an agent could let the answer to its own result be delivered to another region's jobs, or
 * to the stream's purge. Between accounts only what is exported and imported here passes, and answers
 * come back by themselves.
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

/** Of a region's agents, of which the coordinator knows 1,000; all regions together stay below the server's 65,536. */
const MAX_CONNECTIONS = 1_024;
/** An agent has three. */
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
    // The longest of what agents say; a batch of results has 256 KiB. Longer ones end the connection.
    `    max_payload: ${MAX_AGENT_MESSAGE_BYTES}`,
    '  }',
    '  imports: [',
    `    ${imported('stream', 'APP', jobsSubject(region))}`,
    ...resultsSubjects(region).map((subject) => `    ${imported('service', 'APP', subject)}`),
    '  ]',
    // No service: for each request of one the server keeps a way back for the answer, and nobody answers these.
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
