/**
 * Every code of an svc error that is not a problem of the API, with its meaning, grouped by origin. A code is
 * stable: programs may match on it. `docs/reference/problem-codes.md` is made from these tables and from
 * `api/problem-codes.ts`. A code that is missing in both fails the type check.
 */

/** Codes of a process or a command that cannot do its work. */
const PROCESS_CODES = {
  'bad-settings': 'A setting has a value that cannot be used. The message names each of them.',
  'bad-tls-files': 'The files of SVC_TLS_CERT and SVC_TLS_KEY cannot be read, or do not belong together.',
  'bad-tokens': 'The API tokens of SVC_API_TOKEN, or of its file, cannot be used.',
  'secret-file-empty': 'A file of the data folder that keeps a secret is empty.',
  'data-folder': 'The data folder cannot be used, or another process uses it.',
  'no-nats-server': 'This machine has no NATS server, and none could be installed.',
  'no-postgresql':
    'This machine has no PostgreSQL server for `npm run start:cluster`, or it could not be set up.',
  'no-free-port': 'No port of this machine is free for a server of `npm start`.',
  declaration: 'The declared file has errors. The message has each with its line and column.',
  'file-unreadable': 'The declared file, or a file that it names, cannot be read.',
  usage: 'The command line has an unknown option or argument, or lacks one.',
  'file-not-written': 'A file could not be written. Existing files are never overwritten.',
  'secrets-hidden': 'The export needs secrets, and the token may not read them.',
  'not-exportable': 'The API answered with an object that this version cannot export.',
  'not-taken': 'An OTLP endpoint did not accept the metrics of a test.',
  'bad-nats-key': 'A text is not the seed of a NATS key, as it should be.',
  'nats-unreachable': 'The NATS server of the settings cannot be reached, or not with TLS.',
  'nats-refused': 'The NATS server does not know the key, the user or the token of the settings.',
  'nats-configuration': 'The NATS server refuses its configuration.',
  'no-answer': 'Another machine did not answer a command in time.',
  'not-healthy': 'A command has found something that does not work. It says what.',
  'bad-backup': 'A backup cannot be used: it is damaged, not complete, or of another program.',
  'build-failed': 'A bundle or package could not be built.',
} as const;

/** Codes of the database. */
const STORE_CODES = {
  'store-full': 'The disk is full, or a quota is reached. svc tries again.',
  'store-busy': 'Another program holds a lock on the database. svc tries again.',
  'store-io': 'The operating system could not read or write the file. svc tries again.',
  'store-readonly': 'The database is read-only for svc.',
  'store-corrupt': 'The database file is damaged.',
  'store-constraint': 'A row breaks a rule of its table.',
  'store-overloaded':
    'Too many reads or transactions are waiting already, or PostgreSQL took too long for one or lacks resources. svc tries again.',
  'store-reader-lost':
    'The reading thread, or the connection to PostgreSQL, has ended. The next read starts another. svc tries again.',
  'store-writer-lost':
    'The writing thread, or the connection to PostgreSQL, has ended, and its open transaction is rolled back. The next transaction starts another. svc tries again.',
  'store-unanswered':
    'The writing thread, or the connection to PostgreSQL, has ended after the commit. The change is stored, but its result is unknown. It must not be repeated.',
  'store-closed': 'The database is closed: the process is stopping.',
  'store-in-use': 'Another coordinator uses this database file.',
  'wrong-shards': 'The number of shards in the settings is not the one that the database has.',
  'store-newer': 'The database was written by a newer version of svc.',
  'store-foreign': 'The file is not an svc database.',
  'store-key': 'The secret key does not fit the database, or a sealed value was changed.',
  'store-unreadable':
    'A row keeps something that this version of svc cannot read. Another version wrote it, or another program.',
  'store-error': 'The database failed in another way.',
} as const;

/** Codes of the coordinator's own work. */
const COORDINATOR_CODES = {
  'invalid-reference': 'An attribute names a resource that does not exist or has the wrong kind.',
  'denied-endpoint': 'The operator does not let svc connect to the place that an attribute names.',
  'what-if-failed': 'A replay of the results of a monitor could not be made. Another try may succeed.',
  immutable: 'The attribute cannot change after the resource was created.',
  'invalid-note': 'A member of an incident or of an update does not fit the others.',
  'not-leading': 'This coordinator does not lead at this moment.',
  'not-running': 'The coordinator is not running.',
  'term-ended': 'Leading was stopped while it was starting.',
  stopping: 'The work was cancelled because the process is stopping.',
  'too-many-runs': 'Too many checks are being run by hand at once.',
  'job-key': 'The key that signs jobs has a wrong length.',
  'post-aborted': 'A request to a receiver of alerts was cancelled.',
  'mail-stopped': 'The sending of a mail was cancelled.',
  'not-exported': 'The monitor has no endpoint that its metrics are exported to.',
  'export-unavailable': 'The export of metrics does not run at this moment.',
  'proxy-failed': 'The proxy for alerts cannot be reached, or opens no tunnel.',
} as const;

/** Codes of NATS: its connection, its streams and its servers. */
const BUS_CODES = {
  'bus-disconnected': 'There is no connection to NATS.',
  'stream-read-ended': 'NATS ended the reading of a stream. It is read again from the recorded position.',
  'results-refused': 'A stream of results has not stored a message that svc moved to it.',
  'stream-unreadable': 'A message of a stream cannot be read. svc tries again.',
  'stream-too-large': 'NATS has no room for the results of a region.',
  'too-few-nats-servers': 'The NATS cluster has fewer running servers than a stream needs.',
} as const;

/** Codes of probing. Codes of the operating system and of Node, such as ECONNREFUSED, occur too. */
const PROBE_CODES = {
  ENOTFOUND: 'The name does not exist.',
  ENODATA: 'The name exists and has no address.',
  ESERVFAIL: 'The name servers answered SERVFAIL, refused, or sent an answer that is not valid.',
  EUNREACHABLE: 'None of the name servers can be reached.',
  ETIMEOUT: 'No name server answered in time.',
  EBADNAME: 'The text is not a host name.',
  ECANCELLED: 'The resolver was closed.',
  ELOOKUP: 'A name server could not be asked.',
  EDNSFORMAT: 'A DNS message cannot be read or written.',
  EBADRESPONSE: 'The answer is not HTTP.',
  ENOROOM: 'The memory for response bodies is used up.',
  EEGRESS: "The operator's egress rules deny the address.",
  'probe-stuck': 'A probe never settled: a defect of svc.',
} as const;

/** Codes of requests to the API that failed otherwise than by a problem of `api/problem-codes.ts`. */
export const API_CLIENT_CODES = {
  'unknown-problem': 'The API reported a problem that this version does not know.',
  unreachable: 'There was no connection, so the server cannot have seen the request.',
  timeout: 'There was no complete answer in time.',
  broken: 'The connection ended before the answer was complete.',
  certificate: 'The certificate is not trusted, or the other side does not speak TLS.',
  redirected: 'The address answers with a redirect, and svc does not follow it.',
  'not-the-api': 'The answer is not from the svc API: it is the page of a proxy, or another service.',
  'server-failed':
    'The answer has a status from 500 and is not from the API: a proxy has no server behind it.',
  'answer-too-large': 'The answer is too large.',
  unsettled: 'A list changed each time it was read.',
  aborted: 'The caller cancelled the request.',
} as const;

/** Codes of the Terraform provider. */
const PROVIDER_CODES = {
  'not-connected': 'The provider is not configured yet, or its settings are known only after an apply.',
  'no-private-socket': 'No Unix socket can be created, and Terraform gave no client certificate.',
  'terraform-value': 'Terraform sent a value that cannot be read.',
  'unknown-read': 'A rule looked at a value that is known only after an apply.',
  'call-failed': 'A call of Terraform could not be finished.',
  explained: 'The message says what is wrong.',
} as const;

type ErrorTable = Readonly<Record<string, string>>;

/** The tables with their headings, in the order of the page. */
export const ERROR_TABLES: readonly (readonly [heading: string, codes: ErrorTable])[] = [
  ['Processes and commands', PROCESS_CODES],
  ['Database', STORE_CODES],
  ['Coordinator', COORDINATOR_CODES],
  ['NATS', BUS_CODES],
  ['Probing', PROBE_CODES],
  ['Requests to the API', API_CLIENT_CODES],
  ['Terraform provider', PROVIDER_CODES],
];

export type StoreErrorCode = keyof typeof STORE_CODES | 'not-leading';

/**
 * The code of an error that is not a problem of the API. The codes of the API's problems are in
 * `api/problem-codes.ts`.
 */
export type ErrorCode =
  | keyof typeof PROCESS_CODES
  | StoreErrorCode
  | keyof typeof COORDINATOR_CODES
  | keyof typeof BUS_CODES
  | keyof typeof PROBE_CODES
  | keyof typeof API_CLIENT_CODES
  | keyof typeof PROVIDER_CODES;
